package v1beta1

import "testing"

func TestParseSizeGB(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   int64 // 0: refused
	}{
		"Number":    {"The seeds of this project count in GB.", "50", 50},
		"GB":        {"As people write it.", "60GB", 60},
		"G":         {"As Kubernetes writes it.", "60G", 60},
		"Gi":        {"64.42 GB; a disk is not smaller than asked for.", "60Gi", 65},
		"GiB":       {"As LXD writes it.", "60GiB", 65},
		"TB":        {"1000 GB.", "1TB", 1000},
		"Fraction":  {"Half a TB.", "0.5TB", 500},
		"RoundUp":   {"MAAS takes whole GB.", "1500M", 2},
		"Blank":     {"A blank at the end is a slip, not another size.", "60 ", 60},
		"Huge":      {"More than any disk.", "99999999999999999999", 0},
		"Petabytes": {"More than 1 PB.", "2PB", 0},
		"Zero":      {"Nothing.", "0", 0},
		"Negative":  {"Less than nothing.", "-5", 0},
		"Tiny":      {"A byte takes a GB, as everything does.", "1", 1},
		"Exponent":  {"Nobody writes a disk so, and it could be a very long number.", "1e9", 0},
		"Long":      {"Nor so.", "0.0000000001", 0},
		"Apart":     {"A blank before the unit.", "60 GB", 60},
		"Words":     {"No number.", "large", 0},
		"Empty":     {"No number.", "", 0},
		"Unit":      {"No number.", "GB", 0},
		"Dot":       {"No number.", ".", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSizeGB(tc.text)
			if (err == nil) != (tc.want != 0) || err == nil && got != tc.want {
				t.Errorf("%s\nParseSizeGB(%q) = %d, %v, want %d", tc.reason, tc.text, got, err, tc.want)
			}
		})
	}
}

// FuzzParseSizeGB wants a size that a disk can have, or an error.
func FuzzParseSizeGB(f *testing.F) {
	for _, seed := range []string{"50", "60GB", "1e3", "1e999999", "0.000001n", "1.5TiB", "--1", "9223372036854775807Ei"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := ParseSizeGB(text); err == nil && (got < 1 || got > maxSizeGB) {
			t.Errorf("ParseSizeGB(%q) = %d", text, got)
		}
	})
}
