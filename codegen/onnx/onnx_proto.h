// SPDX-License-Identifier: MIT
// The classes that protoc makes of the packaged onnx.proto. Include this and not onnx.pb.h: the
// generated header is not held to our warnings.
#pragma once

#pragma clang system_header

#include "codegen/onnx/onnx.pb.h"
