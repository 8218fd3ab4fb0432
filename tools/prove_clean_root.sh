#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves the README's commands in a Debian 12 root that holds nothing else.
#
#     tools/prove_clean_root.sh [COMMAND]      (as root; needs debootstrap)
#
# Makes the root with debootstrap in a temporary folder, clones the committed tree into it and runs
# there, one after the other: tools/setup.sh, scons -j2 test, scons -j2 demo, or just COMMAND.
# Packages come from wherever this machine gets its own. KEEP=1 leaves the root in place, and
# ROOT=FOLDER uses one that an earlier run kept.
set -euo pipefail
cd "$(dirname "$0")/.."

commands=("tools/setup.sh && scons -j2 test" "tools/setup.sh && scons -j2 demo")
(($# == 0)) || commands=("$*")

say() { printf 'clean root: %s\n' "$*"; }

# Mounts live in a namespace of their own, so that nothing stays mounted however this ends.
if [[ -z ${CLEAN_ROOT_INSIDE:-} ]]; then
  ((EUID == 0)) || { say "run as root" >&2; exit 1; }
  command -v debootstrap >/dev/null || { say "install debootstrap first" >&2; exit 1; }
  root=${ROOT:-$(mktemp -d "${TMPDIR:-/tmp}/camshaft-root-XXXXXX")}
  status=0
  CLEAN_ROOT_INSIDE=$root unshare --mount --pid --fork --kill-child "$0" "$@" || status=$?
  if [[ -z ${KEEP:-} && -z ${ROOT:-} ]]; then
    rm -rf --one-file-system "$root"
  else
    say "kept $root"
  fi
  exit $status
fi
root=$CLEAN_ROOT_INSIDE

# The first archive that this machine's own apt is told of, for the release in question.
archive() {
  apt-get indextargets --format '$(SITE) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk '$2 ~ /^bookworm$/ { print $3; exit }'
}

make_root() {
  say "debootstrap into $root"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$(archive)" >"$root.log" 2>&1 ||
    { tail -20 "$root.log" >&2; exit 1; }
  rm -f "$root.log" "$root"/etc/apt/sources.list
  cp -a /etc/apt/. "$root/etc/apt/"
  # Where the machine trusts certificates of its own, so does the root.
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/machine.crt"
}

run_inside() {
  say "$1"
  env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    PIP_CERT=/etc/ssl/machine.crt PIP_DEFAULT_TIMEOUT=180 \
    chroot "$root" /bin/bash -c "cd /camshaft && $1"
}

[[ -e $root/etc/debian_version ]] || make_root
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/dev/shm"
rm -rf --one-file-system "$root/camshaft"
git clone -q --no-hardlinks . "$root/camshaft"
for command in "${commands[@]}"; do
  run_inside "$command"
done
say "proved: ${commands[*]}"
