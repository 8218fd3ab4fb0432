# SPDX-License-Identifier: MIT
# The metadata section of a plan file: plan.h's structs in Cap'n Proto's terms. plan.h says what the
# fields mean, FORMAT.md what a reader checks.
#
# Fields are only ever added, at the end. A reader ignores those that it does not know; where that
# would be wrong, kFormatVersion of plan.h goes up with them.

@0xbb8c16d42d2b7c93;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("camshaft::plan::schema");

struct Plan {
  modelName @0 :Text;
  producer @1 :Text;
  modelDigest @2 :Text;
  inputs @3 :List(Tensor);
  outputs @4 :List(Tensor);
  targets @5 :List(Target);
  goldens @6 :List(Golden);
  frozen @7 :List(Tensor);
  frozenSection @8 :UInt32;
  bounds @9 :List(Bound);
  hasExceededOutput @10 :Bool;
  exceededOutput @11 :UInt32;
  floatDtype @12 :UInt8;  # base::DType + 1; 0: not said
}

struct Tensor {
  name @0 :Text;
  dtype @1 :UInt8;  # base::DType
  shape @2 :List(Int64);
  unit @3 :Text;
  slices @4 :List(OutputSlice);
  countedAxes @5 :List(Int64);
  countOutput @6 :UInt32;
}

struct Bound {
  name @0 :Text;
  most @1 :Int64;
}

struct OutputSlice {
  name @0 :Text;
  offset @1 :UInt64;  # elements
  shape @2 :List(Int64);
  unit @3 :Text;
}

struct Target {
  target @0 :Text;
  device @1 :Text;
  arch @2 :Text;
  features @3 :List(Text);
  toolchain @4 :Text;
  binaryFormat @5 :Text;
  binarySection @6 :UInt32;
  weightsSection @7 :UInt32;
  sourceSection @8 :UInt32;
  threads @9 :UInt32;
  arenaBytes @10 :UInt64;
  arenaLowerBoundBytes @11 :UInt64;
  kernels @12 :List(Kernel);
  commands @13 :List(Command);
  entryPoints @14 :List(EntryPoint);
  arenaBlocks @15 :List(ArenaBlock);
  states @16 :List(State);
  driverBinaries @17 :List(DriverBinary);
}

struct DriverBinary {
  driver @0 :Text;
  digest @1 :Text;
  section @2 :UInt32;
}

struct Kernel {
  symbol @0 :Text;
  strategy @1 :Text;
}

struct Command {
  kind @0 :UInt8;  # CommandKind
  name @1 :Text;
  description @2 :Text;
  kernel @3 :UInt32;
  gridX @4 :UInt32;
  gridY @5 :UInt32;
  gridZ @6 :UInt32;
  groupX @7 :UInt32;
  groupY @8 :UInt32;
  groupZ @9 :UInt32;
  parts @10 :UInt32;
  args @11 :List(Arg);
  flops @12 :UInt64;
  bytes @13 :UInt64;
}

struct Arg {
  space @0 :UInt8;  # Space
  index @1 :UInt32;
  offsetBytes @2 :UInt64;
  sizeBytes @3 :UInt64;
  imageWidth @4 :UInt16;  # texels; 0: no image
  imageDtype @5 :UInt8;  # base::DType
}

struct EntryPoint {
  name @0 :Text;
  firstCommand @1 :UInt32;
  commandCount @2 :UInt32;
}

struct ArenaBlock {
  name @0 :Text;
  offsetBytes @1 :UInt64;
  sizeBytes @2 :UInt64;
  firstCommand @3 :UInt32;
  lastCommand @4 :UInt32;
}

struct State {
  name @0 :Text;
  sizeBytes @1 :UInt64;
}

struct Golden {
  target @0 :Text;
  inputsSection @1 :UInt32;
  outputsSection @2 :UInt32;
  outputHashLow @3 :UInt64;
  outputHashHigh @4 :UInt64;
}
