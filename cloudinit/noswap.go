package cloudinit

import _ "embed" // the script

//go:embed scripts/noswap.sh
var noSwapScript string

// noSwapName is the name of the part.
const noSwapName = "maaslxd-noswap.sh"

// NoSwap is user-data, for Merge, that turns swap off at each boot, before anything
// else of the user-data runs. Machines of Kubernetes clusters need it where MAAS
// does not keep curtin from making swap: for images that are not Ubuntu's own.
func NoSwap() []byte {
	return writeMultipart(part{kind: kindBoothook, name: noSwapName, body: []byte(noSwapScript)})
}
