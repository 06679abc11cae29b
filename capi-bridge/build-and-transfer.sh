#!/bin/sh
# Builds capi-bridge for a node, copies it into the user's home there over ssh
# and, with a command after --, runs it there.
set -eu

usage() {
	cat <<-'END'
		capi-bridge/build-and-transfer.sh --host HOST [--user NAME] [--key FILE] [--sudo] [-- COMMAND...]

		  --host HOST   the node
		  --user NAME   who to be there (default: as ssh has it)
		  --key FILE    private key for ssh (default: as ssh has it)
		  --sudo        run the command as root, which LXD's socket needs
		  COMMAND...    of capi-bridge, such as: check lxd --storage-backend=zfs
	END
}

fail() {
	echo "build-and-transfer: $1" >&2
	usage >&2
	exit 2
}

host='' user='' key='' root=''
while [ $# -gt 0 ]; do
	case $1 in
	--host=* | --user=* | --key=*)
		flag=${1%%=*} value=${1#*=}
		shift
		set -- "$flag" "$value" "$@"
		continue
		;;
	--host | --user | --key)
		[ $# -gt 1 ] && [ -n "$2" ] || fail "$1 needs a value"
		case $1 in
		--host) host=$2 ;;
		--user) user=$2 ;;
		--key) key=$2 ;;
		esac
		shift
		;;
	--sudo) root=sudo ;;
	-h | --help)
		usage
		exit 0
		;;
	--)
		shift
		break
		;;
	*) fail "$1 is not known here; a command of capi-bridge comes after --" ;;
	esac
	shift
done
[ -n "$host" ] || fail "--host is missing"
case $user$host in -*) fail "a name does not begin with -" ;; esac
[ -z "$key" ] || [ -r "$key" ] || fail "--key: $key cannot be read"
target=${user:+$user@}$host

on_node() { ssh ${key:+-i "$key"} "$target" "$1"; }

# A word of the node's shell, whatever is in it.
quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }

machine=$(on_node 'uname -m')
case $machine in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
ppc64le | s390x | riscv64) arch=$machine ;;
*) fail "there is no build for a $machine" ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/.."
version=$(git describe --tags --always --dirty 2>/dev/null || echo dev)
echo "build-and-transfer: building $version for linux/$arch" >&2
CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$folder/capi-bridge" ./capi-bridge
# Under another name first: one that runs cannot be written over.
scp -q ${key:+-i "$key"} "$folder/capi-bridge" "$target:capi-bridge.new"
on_node 'chmod 755 capi-bridge.new && mv capi-bridge.new capi-bridge'

if [ $# -eq 0 ]; then
	echo "build-and-transfer: on $target: ./capi-bridge check lxd (as root), ./capi-bridge check maas, ./capi-bridge -h" >&2
	exit 0
fi
command=${root:+$root }./capi-bridge
for word in "$@"; do
	command="$command $(quoted "$word")"
done
on_node "$command"
