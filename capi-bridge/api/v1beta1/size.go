package v1beta1

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// maxSizeGB is 1 PB. It only catches typing errors.
const maxSizeGB = 1_000_000

// sizePattern matches a number, with a unit or without.
var sizePattern = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([KMGT]i?B?)?$`)

// bytesByUnit has the units without their "B". A number without a unit is in
// GB.
var bytesByUnit = map[string]int64{
	"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1e9,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// ParseSizeGB reads the size of a disk: a number of GB ("60"), or a number with
// a unit ("60GB", "60G", "60GiB", "60Gi", "1.5TB"). The result is in GB of 10⁹
// bytes, as MAAS counts disks. It is rounded up: a disk is never smaller than
// you asked for.
func ParseSizeGB(text string) (int64, error) {
	parts := sizePattern.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size; write a number of GB, or one with a unit such as 60GB, 60Gi or 1TB", text)
	}
	exact, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return 0, fmt.Errorf("%q is not a size; write a number of GB", text)
	}
	exact.Mul(exact, big.NewRat(bytesByUnit[strings.TrimSuffix(parts[2], "B")], 1e9))
	up := new(big.Int).Add(exact.Num(), new(big.Int).Sub(exact.Denom(), big.NewInt(1)))
	gb := up.Div(up, exact.Denom())
	switch {
	case gb.Sign() == 0:
		return 0, fmt.Errorf("%q is too small for a disk; write at least 1 GB", text)
	case gb.Cmp(big.NewInt(maxSizeGB)) > 0:
		return 0, fmt.Errorf("%q is more than 1 PB; did you mean GB?", text)
	}
	return gb.Int64(), nil
}
