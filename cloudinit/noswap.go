package cloudinit

import _ "embed" // the script

//go:embed scripts/noswap.sh
var noSwapScript string

// noSwapName is the name of the part.
const noSwapName = "maaslxd-noswap.sh"

// NoSwap returns user-data for Merge that turns swap off at each boot, before all other
// user-data runs. Machines of Kubernetes clusters need it if MAAS cannot prevent curtin
// from making swap: for images that are not Ubuntu's own.
func NoSwap() []byte {
	return writeMultipart(part{kind: kindBoothook, name: noSwapName, body: []byte(noSwapScript)})
}
