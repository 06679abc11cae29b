package engine

import "context"

// RegionMarks tells one MAAS from all others. An address does not: one MAAS has several,
// and another one may be behind it tomorrow.
type RegionMarks interface {
	// RegionMark returns the mark of this MAAS, empty if it has none yet.
	RegionMark(ctx context.Context) (string, error)
	// MakeRegionMark returns the mark, and makes it if there is none. Of those who make
	// it at the same moment all get the same.
	MakeRegionMark(ctx context.Context) (string, error)
}
