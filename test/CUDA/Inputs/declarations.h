// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether our declaration of a function is called like NVIDIA's: parameter by parameter, pointers are pointers, and
// numbers have the same size. Enumerations have one type here and another there.
#include <type_traits>

template <typename Ours, typename Theirs> constexpr bool isSameParameter() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>)
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  else
    return sizeof(Ours) == sizeof(Theirs) && std::is_class_v<Ours> == std::is_class_v<Theirs>;
}

template <typename Ours, typename Theirs> struct IsSameCall : std::false_type {};
template <typename R, typename... Rs, typename Q, typename... Qs> struct IsSameCall<R (*)(Rs...), Q (*)(Qs...)> {
  static constexpr bool countAll() {
    if constexpr (sizeof...(Rs) != sizeof...(Qs))
      return false;
    else
      return (isSameParameter<R, Q>() && ... && isSameParameter<Rs, Qs>());
  }
  static constexpr bool value = countAll();
};

#define CHECK_VALUE(NAME) static_assert(static_cast<long>(::NAME) == static_cast<long>(remat::cuda::NAME));
