package daemon

import (
	"fmt"
	"strconv"
	"strings"
)

// sizeUnits are the units that LXD reads.
var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"B", 1},
}

// ReadSize reads "100GiB", "500GB", or bytes. An empty text is 0.
func ReadSize(text string) (int64, error) {
	unit, number := 1.0, strings.TrimSpace(text)
	for _, u := range sizeUnits {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n <= 0 || n*unit > 1e18 {
		return 0, fmt.Errorf("invalid size %q", text)
	}
	return int64(n * unit), nil
}
