# Keeps an LXD for as long as its test lives, and leaves nothing of it behind.
# The arguments are its folder, and what to start it with.
folder=$1
shift
"$@" &
child=$!
trap 'kill -KILL "$child" 2>/dev/null' TERM INT HUP
while kill -0 "$child" 2>/dev/null; do wait "$child"; done
status=$?
rm -rf "$folder"
exit "$status"
