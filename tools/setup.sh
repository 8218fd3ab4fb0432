#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what a fresh Debian 12 machine lacks to build and test Camshaft, and makes build/venv,
# the Python environment of the reference checks. Safe to repeat; quick when nothing is missing.
#
# With --peers also makes build/peers, the environment of the engines that tools/bench_peers times;
# with --oclgrind also installs what scons test-oclgrind needs.
#
# Runs as root, or with sudo. PYTHON=... picks the interpreter of build/venv (3.11 or later).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  # compilers and build
  clang-19 lld-19 llvm-19-dev libclang-rt-19-dev libstdc++-12-dev binutils scons ccache pkgconf
  # linked by the tools
  libeigen3-dev libprotobuf-dev protobuf-compiler libonnx-dev libcli11-dev nlohmann-json3-dev
  libavcodec-dev libavformat-dev libavutil-dev libswscale-dev
  # linked by the runtime
  capnproto libcapnp-dev libxxhash-dev libsodium-dev libpng-dev zlib1g-dev libzstd-dev
  # messages: the bridge between machines, what the queue is timed beside, the model checker
  libzmq3-dev cppzmq-dev spin
  # the OpenCL backend: headers; for its tests, a loader and a device on the CPU
  opencl-c-headers ocl-icd-libopencl1 pocl-opencl-icd
  # tests: tools, the ONNX conformance cases, sounds
  catch2 strace libonnx-testdata alsa-utils
  # the device build for AArch64: C++ library and linker's files, and what runs it in the tests
  g++-aarch64-linux-gnu qemu-user
  # the system around them
  python3 ca-certificates git
)

say() { printf 'setup: %s\n' "$*"; }

die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      printf '%s\n' "$package"
  done
}

install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this is no Debian system; install the like of: $*"
  local missing root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "run as root, or install these first: ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  "${root[@]}" apt-get -q update
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y --no-install-recommends install "${missing[@]}"
}

# True where an interpreter is new enough and can make an environment with pip in it.
usable_python() {
  "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    if usable_python "$candidate"; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

make_environment() {
  local python stamp=build/venv/.requirements
  if cmp -s tools/requirements.txt "$stamp" && build/venv/bin/python -c '' 2>/dev/null; then
    return 0
  fi
  if ! python=$(find_python); then
    install_packages python3-venv
    python=$(find_python) || die "no Python from 3.11 on with venv and ensurepip; set PYTHON=..."
  fi
  say "making build/venv with $("$python" --version)"
  rm -rf build/venv
  mkdir -p build
  "$python" -m venv build/venv
  build/venv/bin/python -m pip --disable-pip-version-check -q install -r tools/requirements.txt
  cp tools/requirements.txt "$stamp"
}

# AArch64 libraries that the runtime links, unpacked in build/aarch64-libraries: the system's own
# stay as they are.
unpack_aarch64_libraries() {
  local folder=build/aarch64-libraries package
  local names=(libcapnp-dev libsodium-dev libxxhash-dev libpng-dev zlib1g-dev libzstd-dev)
  [[ -e $folder/.complete && $(<"$folder/.complete") == "${names[*]}" ]] && return 0
  say "unpacking AArch64 libraries: ${names[*]}"
  rm -rf "$folder"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
  (
    cd "$folder/apt"
    local options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64
      -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD" -o APT::Sandbox::User="$(id -un)")
    apt-get "${options[@]}" update
    apt-get "${options[@]}" download "${names[@]}"
  )
  for package in "$folder"/apt/*.deb; do dpkg-deb -x "$package" "$folder"; done
  rm -rf "$folder/apt"
  printf '%s\n' "${names[*]}" >"$folder/.complete"
}

# Real networks for the tests: packages of which only the model files are used.
install_networks() {
  local stamp=build/networks/.requirements
  cmp -s tools/requirements-networks.txt "$stamp" && return 0
  say "installing networks for the tests"
  rm -rf build/networks
  build/venv/bin/python -m pip --disable-pip-version-check -q install --no-deps \
    --target build/networks -r tools/requirements-networks.txt
  cp tools/requirements-networks.txt "$stamp"
}

# The engines that Camshaft is timed beside, in an environment of their own.
install_peers() {
  local stamp=build/peers/.requirements
  cmp -s tools/requirements-peers.txt "$stamp" && return 0
  say "installing the engines that Camshaft is timed beside"
  rm -rf build/peers
  "$(find_python)" -m venv build/peers
  build/peers/bin/python -m pip --disable-pip-version-check -q install --no-deps \
    -r tools/requirements-peers.txt
  cp tools/requirements-peers.txt "$stamp"
}

peers=no
oclgrind=no
for argument in "$@"; do
  case $argument in
    --peers) peers=yes ;;
    --oclgrind) oclgrind=yes ;;
    *) die "unknown option $argument: there are --peers and --oclgrind" ;;
  esac
done
install_packages "${packages[@]}"
make_environment
install_networks
unpack_aarch64_libraries
[[ $peers == no ]] || install_peers
[[ $oclgrind == no ]] || install_packages oclgrind
say "ready: scons -j2 test, scons -j2 demo"
