//===- Hover.cpp - Documentation of attributes in an editor ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's language server knows operations, blocks and aliases, but not the
// parts of an attribute: hovering over a policy or an update rule shows
// nothing. A dialect cannot add to it. So the server runs after this filter,
// which passes everything on but the questions that it can answer.
//===----------------------------------------------------------------------===//

#include "Hover.h"
#include "Reference.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <mutex>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Reads `Content-Length: n`, other headers, an empty line and n bytes.
static std::optional<std::string> readMessage(std::FILE *file) {
  std::string line;
  size_t length = 0;
  while (true) {
    int letter = std::fgetc(file);
    if (letter == EOF)
      return std::nullopt;
    if (letter != '\n') {
      line.push_back(static_cast<char>(letter));
      continue;
    }
    StringRef header = StringRef(line).rtrim();
    if (header.empty() && length != 0)
      break;
    if (header.consume_front_insensitive("content-length:"))
      (void)header.trim().getAsInteger(10, length);
    line.clear();
  }
  std::string body(length, '\0');
  if (std::fread(body.data(), 1, length, file) != length)
    return std::nullopt;
  return body;
}

static void writeMessage(std::FILE *file, StringRef body) {
  std::string text = "Content-Length: " + std::to_string(body.size()) +
                     "\r\n\r\n" + body.str();
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

//===----------------------------------------------------------------------===//
// Attributes and their texts
//===----------------------------------------------------------------------===//

/// The section of the reference that describes `mnemonic`, or nothing. Its
/// heading is the name of the C++ class.
static StringRef findSection(StringRef mnemonic) {
  std::string heading = join(split(mnemonic, '_'), "") + "attr";
  StringRef rest(kReference);
  while (!rest.empty()) {
    auto [section, next] = rest.split("\n### ");
    auto [title, text] = section.split('\n');
    if (title.trim().equals_insensitive(heading))
      return text.split("\n#### Parameters").first.split("\n## ").first.trim();
    rest = next;
  }
  return {};
}

/// The attribute at column `column` of `line`, such as `#remat.every_k`.
static StringRef findAttribute(StringRef line, size_t column) {
  auto isPart = [](char letter) {
    return isAlnum(letter) || letter == '_' || letter == '.';
  };
  size_t start = std::min(column, line.size());
  while (start > 0 && isPart(line[start - 1]))
    --start;
  if (start < line.size() && line[start] == '#')
    ++start;
  else if (start == 0 || line[start - 1] != '#')
    return {};
  StringRef name = line.drop_front(start).take_while(isPart);
  return StringRef(name.data() - 1, name.size() + 1);
}

/// The answer to a question about a place in `text`, or nothing.
static std::optional<json::Value> getHover(StringRef text, int64_t lineNumber,
                                           int64_t column) {
  for (int64_t i = 0; i < lineNumber; ++i)
    text = text.split('\n').second;
  StringRef line = text.split('\n').first;
  StringRef attribute = findAttribute(line, column);
  auto [dialect, mnemonic] = attribute.split('.');
  if (dialect != "#remat" && dialect != "#opt")
    return std::nullopt;
  StringRef section = findSection(mnemonic);
  if (section.empty())
    return std::nullopt;
  auto position = [&](const char *at) {
    return json::Object{{"line", lineNumber}, {"character", at - line.data()}};
  };
  std::string value = ("`" + attribute + "`: " + section).str();
  return json::Object{
      {"contents", json::Object{{"kind", "markdown"}, {"value", value}}},
      {"range", json::Object{{"start", position(attribute.begin())},
                             {"end", position(attribute.end())}}}};
}

//===----------------------------------------------------------------------===//
// The filter
//===----------------------------------------------------------------------===//

namespace {
/// Knows the open documents as the server does: it asks for whole texts.
class HoverFilter {
public:
  /// The reply to a message of the client, or nothing if the server has to see
  /// it.
  std::optional<json::Value> answer(StringRef message) {
    Expected<json::Value> parsed = json::parse(message);
    if (!parsed) {
      consumeError(parsed.takeError());
      return std::nullopt;
    }
    json::Object *object = parsed->getAsObject();
    std::optional<StringRef> method =
        object ? object->getString("method") : std::nullopt;
    json::Object *params = method ? object->getObject("params") : nullptr;
    json::Object *document =
        params ? params->getObject("textDocument") : nullptr;
    std::optional<StringRef> uri =
        document ? document->getString("uri") : std::nullopt;
    if (!uri)
      return std::nullopt;
    if (*method == "textDocument/didOpen")
      remember(*uri, document->getString("text"));
    if (json::Array *changes = params->getArray("contentChanges"))
      for (json::Value &change : *changes)
        if (json::Object *whole = change.getAsObject())
          remember(*uri, whole->getString("text"));
    json::Object *position = params->getObject("position");
    if (*method != "textDocument/hover" || !position)
      return std::nullopt;
    std::optional<json::Value> hover =
        getHover(texts.lookup(*uri), position->getInteger("line").value_or(0),
                 position->getInteger("character").value_or(0));
    if (!hover)
      return std::nullopt;
    const json::Value *id = object->get("id");
    return json::Object{{"jsonrpc", "2.0"},
                        {"id", id ? *id : json::Value(nullptr)},
                        {"result", std::move(*hover)}};
  }

private:
  void remember(StringRef uri, std::optional<StringRef> text) {
    if (text)
      texts[uri] = text->str();
  }

  StringMap<std::string> texts;
};
} // namespace

int mlir::remat::runWithAttributeHover(function_ref<int()> server) {
  int toServer[2], fromServer[2];
  if (pipe(toServer) != 0 || pipe(fromServer) != 0)
    return server();
  pid_t child = fork();
  if (child < 0)
    return server();
  if (child == 0) {
    dup2(toServer[0], STDIN_FILENO);
    dup2(fromServer[1], STDOUT_FILENO);
    for (int end : {toServer[0], toServer[1], fromServer[0], fromServer[1]})
      close(end);
    return server();
  }
  close(toServer[0]);
  close(fromServer[1]);
  std::FILE *requests = fdopen(toServer[1], "w");
  std::FILE *replies = fdopen(fromServer[0], "r");
  std::signal(SIGPIPE, SIG_IGN);
  std::mutex output;
  auto reply = [&](StringRef message) {
    std::lock_guard<std::mutex> guard(output);
    writeMessage(stdout, message);
  };
  // Reads until the client closes its end, which it need not do.
  std::thread([&] {
    HoverFilter filter;
    while (std::optional<std::string> message = readMessage(stdin)) {
      if (std::optional<json::Value> answer = filter.answer(*message)) {
        std::string text;
        raw_string_ostream(text) << *answer;
        reply(text);
      } else {
        writeMessage(requests, *message);
      }
    }
    std::fclose(requests);
  }).detach();
  while (std::optional<std::string> message = readMessage(replies))
    reply(*message);
  int status = 0;
  waitpid(child, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status)
                          : 1); // The thread may wait yet.
}
