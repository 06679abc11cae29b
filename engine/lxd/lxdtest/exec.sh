#!/bin/sh
# LXD starts this in its own place (LXD_EXEC_PATH). Only the start of qemu is
# changed, so that VMs can be started where LXD alone could not: root may have no
# right to raise limits or to hand devices on; without vhost_vsock in the kernel, a
# VM lacks what its agent speaks over, and one without a system has no agent; and
# where the processor does not virtualise, whatever /dev/kvm promises, qemu does.
#
# The [drive] sections are flash memory. They are left out, and qemu reads the firmware
# into memory. In flash memory the firmware stores its settings while it starts, and
# qemu 7.2 never ends if LXD stops a VM during such a write.
set -eu
[ "${1:-}" = forklimits ] || exec lxd "$@"
while [ "$1" != -- ]; do shift; done
shift
# shellcheck disable=SC2016 # awk's
change='/^\[/ { omitted = without && index($0, "\"qemu_vsock\"") || $0 == "[drive]" }
	emulate { sub(/accel = "kvm"/, "accel = \"tcg\"") }
	!omitted
	$0 == "[machine]" { print "firmware = \"" firmware "\"" }'
without=0
emulate=0
[ -e /dev/vhost-vsock ] || without=1
grep -Eqw 'vmx|svm' /proc/cpuinfo || emulate=1
left=$#
while [ "$left" -gt 0 ]; do
	word=$1
	shift
	left=$((left - 1))
	case $word in
	-runas | -readconfig | -cpu)
		value=$1
		shift
		left=$((left - 1))
		;;
	esac
	case $word in
	-runas) ;;
	-readconfig)
		awk -v without="$without" -v emulate="$emulate" -v firmware="${0%/*}/firmware" "$change" "$value" >"$value.here"
		set -- "$@" -readconfig "$value.here"
		;;
	-cpu)
		[ "$emulate" = 0 ] || value=max
		set -- "$@" -cpu "$value"
		;;
	*) set -- "$@" "$word" ;;
	esac
done
exec "$@"
