// SPDX-License-Identifier: MIT
// The numbers of the zip format that reader and writer share: APPNOTE.TXT, sections 4.3.7, 4.3.12
// and 4.3.16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace camshaft::io::zip {

inline constexpr uint32_t kLocalMark = 0x04034b50;
inline constexpr uint32_t kCentralMark = 0x02014b50;
inline constexpr uint32_t kEndMark = 0x06054b50;
inline constexpr size_t kLocalBytes = 30;
inline constexpr size_t kCentralBytes = 46;
inline constexpr size_t kEndBytes = 22;
inline constexpr size_t kMaxCommentBytes = 0xffff;

inline constexpr uint16_t kStored = 0;
inline constexpr uint16_t kDeflated = 8;
inline constexpr uint16_t kFlagEncrypted = 1;
inline constexpr uint32_t kInZip64 = 0xffffffff;  // the number is in an extra field

// Deflate's best: 258 bytes from two bits.
inline constexpr uint64_t kMaxDeflateRatio = 1032;

}  // namespace camshaft::io::zip
