# SPDX-License-Identifier: MIT
# What travels on the topics: one Message, whose body is one of the structs below. messages.h has the
# same as plain structs and says what the fields mean; services.toml says which topic carries which.
#
# Fields and bodies are only ever added, at the end; nothing is renumbered, retyped or removed, so
# that old readers understand new writers and the other way round. tests/msgq/schema keeps a frozen
# copy of the first version and checks that.

@0xa9d3f1c27be45d08;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("camshaft::schema::wire");

struct Message {
  service @0 :Text;
  monoTimeNs @1 :Int64;
  valid @2 :Bool;
  reason @3 :Text;

  union {
    none @4 :Void;
    cameraState @5 :CameraState;
    modelOutput @6 :ModelOutput;
    driverState @7 :DriverState;
    controls @8 :Controls;
    vehicleState @9 :VehicleState;
    logHeader @10 :LogHeader;
    health @11 :Health;
  }
}

struct CameraState {
  camera @0 :Text;
  frameId @1 :UInt64;
  exposureStartNs @2 :Int64;
  exposureEndNs @3 :Int64;
  exposureS @4 :Float32;
  gain @5 :Float32;
  width @6 :UInt32;
  height @7 :UInt32;
  format @8 :UInt32;
  poolId @9 :UInt64;
  slot @10 :UInt32;
  sequence @11 :UInt64;
  framesSkipped @12 :UInt64;
  framesStarved @13 :UInt64;
  temperatureC @14 :Float32;
}

struct Tensor {
  name @0 :Text;
  unit @1 :Text;
  shape @2 :List(UInt32);
  values @3 :List(Float32);
}

struct ModelOutput {
  model @0 :Text;
  planDigest @1 :Text;
  frameId @2 :UInt64;
  exposureStartNs @3 :Int64;
  runNs @4 :Int64;
  ageNs @5 :Int64;
  late @6 :Bool;
  framesSkipped @7 :UInt64;
  outputs @8 :List(Tensor);
}

struct DriverState {
  frameId @0 :UInt64;
  exposureStartNs @1 :Int64;
  faceProbability @2 :Float32;
  facePitchRad @3 :Float32;
  faceYawRad @4 :Float32;
  faceRollRad @5 :Float32;
  faceX @6 :Float32;
  faceY @7 :Float32;
  leftEyeProbability @8 :Float32;
  rightEyeProbability @9 :Float32;
  leftBlinkProbability @10 :Float32;
  rightBlinkProbability @11 :Float32;
  sunglassesProbability @12 :Float32;
  poorVisionProbability @13 :Float32;
  distractedProbability @14 :Float32;
}

struct Controls {
  engaged @0 :Bool;
  steeringAngleRad @1 :Float32;
  curvaturePerM @2 :Float32;
  accelerationMps2 @3 :Float32;
  brake @4 :Float32;
  leftBlinker @5 :Bool;
  rightBlinker @6 :Bool;
  modelFrameId @7 :UInt64;
  modelAgeNs @8 :Int64;
  alert @9 :Text;
}

enum Gear {
  unknown @0;
  park @1;
  reverse @2;
  neutral @3;
  drive @4;
}

struct VehicleState {
  speedMps @0 :Float32;
  accelerationMps2 @1 :Float32;
  yawRateRadps @2 :Float32;
  steeringAngleRad @3 :Float32;
  steeringTorqueNm @4 :Float32;
  gas @5 :Float32;
  brake @6 :Float32;
  gear @7 :Gear;
  standstill @8 :Bool;
  leftBlinker @9 :Bool;
  rightBlinker @10 :Bool;
  faults @11 :List(Text);
}

struct LoggedService {
  name @0 :Text;
  schema @1 :Text;
  rateHz @2 :Float32;
  logDecimation @3 :UInt32;
}

struct LogHeader {
  driveId @0 :Text;
  program @1 :Text;
  device @2 :Text;
  startWallTimeNs @3 :Int64;
  startMonoTimeNs @4 :Int64;
  planDigests @5 :List(Text);
  services @6 :List(LoggedService);
}

enum HealthState {
  ok @0;
  degraded @1;
  fault @2;
}

struct LateService {
  name @0 :Text;
  lateByNs @1 :Int64;
  sinceNs @2 :Int64;
}

struct Health {
  process @0 :Text;
  state @1 :HealthState;
  reason @2 :Text;
  upNs @3 :Int64;
  cpu @4 :Float32;
  memoryBytes @5 :UInt64;
  deadlinesMissed @6 :UInt64;
  framesSkipped @7 :UInt64;
  lateServices @8 :List(LateService);
  temperatureC @9 :Float32;
}
