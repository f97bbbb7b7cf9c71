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

// Calls take(piece) with the unpacked bytes, piece by piece.
template <class Take>
void gunzip(const std::string& file, std::string_view bytes, const Take& take) {
  const std::size_t limit =
      std::min(kMaxUnpackedBytes, std::max(kAlwaysAllowed, bytes.size() * kMaxRatio));
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::vector<char> buffer(std::size_t{1} << 18);
  const char* next = bytes.data();
  std::size_t left = bytes.size(), unpacked = 0;
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
    if (produced > limit - unpacked) {
      throw InputError(
          fmt::format("{}: unpacks to more than {}, which is the most that is read of {}", file,
                      format_bytes(static_cast<double>(limit)),
                      format_bytes(static_cast<double>(bytes.size()))));
    }
    unpacked += produced;
    take(std::string_view(buffer.data(), produced));
    const std::size_t consumed = bytes.size() - left - stream.avail_in;
    if (code == Z_STREAM_END) {
      // Several gzip files in a row count as one. Anything else that follows is padding.
      if (!is_gzip(bytes.substr(consumed))) return;
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

// Takes the bytes of a tar archive piece by piece and keeps the files in it.
class TarSplitter {
 public:
  explicit TarSplitter(std::string file) : file_(std::move(file)) {}

  void take(std::string_view bytes) {
    while (!bytes.empty() && !ended_) {
      const std::size_t some = std::min<std::uint64_t>(wanted(), bytes.size());
      const std::string_view piece = bytes.substr(0, some);
      bytes.remove_prefix(some);
      at_ += some;
      if (content_left_ > 0) {
        if (kept_ != nullptr) kept_->append(piece);
        content_left_ -= some;
        if (content_left_ == 0) end_entry();
      } else if (padding_left_ > 0) {
        padding_left_ -= some;
      } else {
        header_.append(piece);
        if (header_.size() == kBlock) begin_entry();
      }
    }
    at_ += bytes.size();
  }

  // REQUIRES: all bytes were taken.
  std::vector<Unpacked> files() {
    if (content_left_ > 0) {
      throw InputError(fmt::format("{}: the tar archive is cut off after {} bytes", file_, at_));
    }
    if (members_.empty()) {
      throw InputError(
          fmt::format("{}: no whole file in the archive, which may be cut off", file_));
    }
    return std::move(members_);
  }

 private:
  // Longer names of files are of no use to anybody.
  static constexpr std::size_t kLongestName = 1 << 16;

  // Returns how many bytes of the same kind come next.
  std::uint64_t wanted() const {
    if (content_left_ > 0) return content_left_;
    return padding_left_ > 0 ? padding_left_ : kBlock - header_.size();
  }

  void begin_entry() {
    const std::string header = std::exchange(header_, {});
    if (header.find_first_not_of('\0') == std::string::npos) {
      ended_ = true;
      return;
    }
    const std::uint64_t begin = at_ - kBlock;
    const auto size = number(std::string_view(header).substr(124, 12));
    if (!is_tar_header(header) || !size || *size > kMaxUnpackedBytes) {
      throw InputError(fmt::format("{}: damaged tar header at byte {}", file_, begin));
    }
    content_left_ = *size;
    padding_after_ = (kBlock - *size % kBlock) % kBlock;
    kept_ = nullptr;
    const char type = header[156];
    if (type == 'L') {
      if (*size > kLongestName) {
        throw InputError(fmt::format("{}: the name at byte {} is too long", file_, begin));
      }
      long_name_.clear();
      kept_ = &long_name_;
    } else if (type == '0' || type == '\0') {
      if (members_.size() == kMaxMembers) {
        throw InputError(fmt::format("{}: more than {} files in the archive", file_, kMaxMembers));
      }
      members_.push_back({file_ + "/" + name_of(header), {}});
      kept_ = &members_.back().bytes;
      kept_->reserve(std::min<std::uint64_t>(*size, kAlwaysAllowed));  // the size may be a lie
    }
    if (content_left_ == 0) end_entry();
  }

  std::string name_of(std::string_view header) {
    const std::string name = std::exchange(long_name_, {});  // of an entry before this one
    if (!name.empty()) return name.substr(0, name.find('\0'));
    const std::string_view prefix =
        header.substr(257, 6) == std::string_view("ustar\0", 6) ? field(header, 345, 155) : "";
    return fmt::format("{}{}{}", prefix, prefix.empty() ? "" : "/", field(header, 0, 100));
  }

  void end_entry() { padding_left_ = padding_after_; }

  std::string file_;
  std::vector<Unpacked> members_;
  std::string header_;           // the part of one that was taken
  std::string long_name_;        // of a GNU entry that precedes its file
  std::string* kept_ = nullptr;  // where content goes; null if it is passed over
  std::uint64_t content_left_ = 0, padding_after_ = 0, padding_left_ = 0;
  std::uint64_t at_ = 0;
  bool ended_ = false;
};

}  // namespace

bool is_packed(std::string_view bytes) {
  return is_gzip(bytes) || is_tar_header(bytes);
}

std::vector<Unpacked> unpack(const std::string& file, std::string_view bytes) {
  if (!is_gzip(bytes)) {
    TarSplitter tar(file);
    tar.take(bytes);
    return tar.files();
  }
  std::string plain;  // all that came before it is known whether it is a tar archive
  bool known = false;
  std::optional<TarSplitter> tar;
  gunzip(file, bytes, [&](std::string_view piece) {
    if (tar) return tar->take(piece);
    plain.append(piece);
    if (known || plain.size() < kBlock) return;
    known = true;
    if (!is_tar_header(plain)) return;
    tar.emplace(file).take(plain);
    plain = {};
  });
  if (tar) return tar->files();
  return {{file, std::move(plain)}};
}

}  // namespace doppler
