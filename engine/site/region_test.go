package site_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine/site"
)

// TestRegionName: all who share a ledger call one MAAS the same.
func TestRegionName(t *testing.T) {
	t.Parallel()
	same := map[string]string{
		"http://maas.example.com:5240/MAAS":            "The address as MAAS writes it.",
		"http://maas.example.com:5240":                 "/MAAS may be left out.",
		"http://maas.example.com:5240/MAAS/":           "A slash says nothing.",
		"HTTP://Maas.Example.com:5240/MAAS":            "Hosts have no case.",
		" http://maas.example.com:5240/MAAS/api/2.0/ ": "The API's own address.",
	}
	for address, reason := range same {
		if got := site.RegionName(address); got != "maas.example.com:5240/MAAS" {
			t.Errorf("%s\n%q is %q", reason, address, got)
		}
	}
	other := map[string]string{
		"http://maas.example.com/MAAS":       "maas.example.com:80/MAAS",
		"https://maas.example.com":           "maas.example.com:443/MAAS",
		"https://maas.example.com/a/MAAS":    "maas.example.com:443/a/MAAS",
		"https://[2001:db8::1]:5443/MAAS":    "[2001:db8::1]:5443/MAAS",
		"https://maas.example.com:5443/MAAS": "maas.example.com:5443/MAAS",
	}
	for address, want := range other {
		if got := site.RegionName(address); got != want {
			t.Errorf("%q is %q, want %q", address, got, want)
		}
	}
}
