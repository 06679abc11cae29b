package world

import (
	"cmp"
	"slices"
	"strings"
)

// Release is an Ubuntu series.
type Release struct{ Version, Title string }

// Releases are the series of Ubuntu.
var Releases = map[string]Release{
	"xenial": {"16.04", "16.04 LTS"}, "bionic": {"18.04", "18.04 LTS"}, "focal": {"20.04", "20.04 LTS"},
	"jammy": {"22.04", "22.04 LTS"}, "noble": {"24.04", "24.04 LTS"},
}

// DefaultSeries is the series for commissioning: the oldest imported Ubuntu, because
// MAAS's own default is older than any image that users import now.
func (w *World) DefaultSeries() string {
	series := ""
	for _, image := range w.Images {
		if s, isUbuntu := strings.CutPrefix(image, "ubuntu/"); isUbuntu && (series == "" || Releases[s].Version < Releases[series].Version) {
			series = s
		}
	}
	return cmp.Or(series, "focal")
}

// DeploySeries is the default series for deployments: that of the setting, or that of
// commissioning.
func DeploySeries(w *World) string {
	if series, isSet := w.Site.Settings["default_distro_series"].(string); isSet && series != "" {
		return series
	}
	return w.DefaultSeries()
}

// HasImage tells whether an image is imported.
func (w *World) HasImage(osystem, series string) bool {
	for _, image := range w.Images {
		if image == osystem+"/"+series {
			return true
		}
	}
	return false
}

// ArchitecturesOf are the architectures that an image was imported for.
func ArchitecturesOf(w *World, image string) []string {
	if own := w.ImageArchitectures[image]; own != nil {
		return own
	}
	return w.Architectures
}

// MachineArchitectures are the architectures that a machine can be given: MAAS has an image
// for each (models/bootresource.py, get_usable_architectures).
func MachineArchitectures(w *World) []string {
	names := slices.Clone(w.Architectures)
	for _, own := range w.ImageArchitectures {
		names = append(names, own...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
