#unused = #torch.something<1>
func.func @loss(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[2,2],f32> {
  %0 = torch.aten.mm %x, %y : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,2],f32> -> !torch.vtensor<[2,2],f32>
  return %0 : !torch.vtensor<[2,2],f32>
}
