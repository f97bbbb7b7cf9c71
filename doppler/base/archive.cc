#include "doppler/base/archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/units.h"

namespace doppler {
namespace {

constexpr std::size_t kAlwaysAllowed = std::size_t{64} << 20;  // whatever the ratio
constexpr std::size_t kMaxMembers = 100'000;

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b\x08");
}

// --- gzip ---

// A zlib stream that is ended by the destructor.
class Inflater {
 public:
  Inflater() {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, with a gzip header
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw SystemError("zlib cannot start");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

std::string gunzip(const std::string& file, std::string_view bytes) {
  const std::size_t limit =
      std::min(kMaxUnpackedBytes, std::max(kAlwaysAllowed, bytes.size() * kMaxRatio));
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::string out;
  std::vector<char> buffer(std::size_t{1} << 18);
  const char* next = bytes.data();
  std::size_t left = bytes.size();
  while (true) {
    if (stream.avail_in == 0 && left > 0) {
      const std::size_t piece = std::min<std::size_t>(left, std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next));
      stream.avail_in = static_cast<uInt>(piece);
      next += piece;
      left -= piece;
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    const std::size_t produced = buffer.size() - stream.avail_out;
    if (produced > limit - out.size()) {
      throw InputError(fmt::format("{}: unpacks to more than {}", file,
                                   format_bytes(static_cast<double>(limit))));
    }
    out.append(buffer.data(), produced);
    const std::size_t consumed = bytes.size() - left - stream.avail_in;
    if (code == Z_STREAM_END) {
      // Several gzip files in a row count as one. Anything else that follows is padding.
      if (!is_gzip(bytes.substr(consumed))) return out;
      inflateReset(&stream);
    } else if (code == Z_BUF_ERROR ||
               (code == Z_OK && stream.avail_in == 0 && left == 0 && stream.avail_out != 0)) {
      throw InputError(
          fmt::format("{}: the gzip file is cut off after {} bytes", file, bytes.size()));
    } else if (code != Z_OK) {
      throw InputError(fmt::format("{}: damaged gzip file near byte {}", file, consumed));
    }
  }
}

// --- tar (POSIX ustar and its GNU and pax kin) ---

constexpr std::size_t kBlock = 512;

std::string_view field(std::string_view header, std::size_t at, std::size_t size) {
  const std::string_view text = header.substr(at, size);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

// Returns a number field of a header: octal digits, or big-endian if the highest bit is set.
// Returns nothing if it is neither.
std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  if (!text.empty() && (static_cast<unsigned char>(text[0]) & 0x80) != 0) {
    for (std::size_t i = text.size() > 8 ? text.size() - 8 : 1; i < text.size(); ++i) {
      value = value << 8 | static_cast<unsigned char>(text[i]);
    }
    return value;
  }
  bool digits = false;
  for (const char c : text) {
    if (c == ' ' || c == '\0') {
      if (digits) break;
      continue;
    }
    if (c < '0' || c > '7' || value >> 61 != 0) return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
    digits = true;
  }
  return digits ? std::optional(value) : std::nullopt;
}

bool is_tar_header(std::string_view header) {
  if (header.size() < kBlock || header[0] == '\0') return false;
  const auto stated = number(header.substr(148, 8));
  std::uint64_t sum = 8 * ' ';  // the checksum's own field counts as spaces
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
  }
  return stated == sum;
}

std::vector<Unpacked> untar(const std::string& file, std::string_view bytes) {
  std::vector<Unpacked> members;
  std::string long_name;  // of a GNU entry that precedes its file
  for (std::size_t at = 0; at + kBlock <= bytes.size();) {
    const std::string_view header = bytes.substr(at, kBlock);
    if (header.find_first_not_of('\0') == std::string_view::npos) break;
    const auto size = number(header.substr(124, 12));
    if (!is_tar_header(header) || !size) {
      throw InputError(fmt::format("{}: damaged tar header at byte {}", file, at));
    }
    at += kBlock;
    if (*size > bytes.size() - at) {
      throw InputError(
          fmt::format("{}: the tar archive is cut off after {} bytes", file, bytes.size()));
    }
    const std::string_view content = bytes.substr(at, *size);
    const char type = header[156];
    if (type == 'L') {
      long_name = std::string(content.substr(0, content.find('\0')));
    } else if (type == '0' || type == '\0') {
      std::string name = std::exchange(long_name, {});
      if (name.empty()) {
        const std::string_view prefix =
            header.substr(257, 6) == std::string_view("ustar\0", 6) ? field(header, 345, 155) : "";
        name = fmt::format("{}{}{}", prefix, prefix.empty() ? "" : "/", field(header, 0, 100));
      }
      if (members.size() == kMaxMembers) {
        throw InputError(fmt::format("{}: more than {} files in the archive", file, kMaxMembers));
      }
      members.push_back({file + "/" + name, std::string(content)});
    }
    at += (*size + kBlock - 1) / kBlock * kBlock;
  }
  if (members.empty())
    throw InputError(fmt::format("{}: no whole file in the archive, which may be cut off", file));
  return members;
}

}  // namespace

bool is_packed(std::string_view bytes) {
  return is_gzip(bytes) || is_tar_header(bytes);
}

std::vector<Unpacked> unpack(const std::string& file, std::string_view bytes) {
  if (!is_gzip(bytes)) return untar(file, bytes);
  std::string inside = gunzip(file, bytes);
  if (is_tar_header(inside)) return untar(file, inside);
  return {{file, std::move(inside)}};
}

}  // namespace doppler
