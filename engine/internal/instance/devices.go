package instance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// deviceProperties are the properties of the allowed devices of a VM, by the type of the device
// (lxd/device/gpu_*.go, pci.go, tpm.go, usb.go, as far as they are for VMs). LXD has other
// devices for containers only. The program makes disks and NICs itself.
var deviceProperties = map[string][]string{
	"gpu": {"gputype", "id", "mdev", "pci", "productid", "vendorid"},
	"pci": {"address"},
	"tpm": {},
	"usb": {"busnum", "devnum", "productid", "required", "serial", "vendorid"},
}

// DeviceTypes lists the allowed types of devices of a VM.
func DeviceTypes() []string { return slices.Sorted(maps.Keys(deviceProperties)) }

// IsDeviceType tells whether a VM may have a device of a type.
func IsDeviceType(deviceType string) bool { return deviceProperties[deviceType] != nil }

// IsHotPlugged tells whether LXD adds and removes a device while the VM runs (CanHotPlug).
func IsHotPlugged(deviceType string) bool { return deviceType == "usb" }

var (
	deviceNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
	ownDevicePattern  = regexp.MustCompile(`^(root|eth\d+|disk\d+)$`)
)

// validProperty has the values that LXD takes for properties.
var validProperty = map[string]validValue{
	"gputype":   {"one of physical, mdev, sriov", isOneOf("physical", "mdev", "sriov")},
	"address":   pciAddress,
	"pci":       pciAddress,
	"productid": deviceID,
	"vendorid":  deviceID,
	"busnum":    usbNumber,
	"devnum":    usbNumber,
	"required":  {"true or false", isOneOf("true", "false")},
}

var (
	pciAddress = validValue{"a PCI address such as 0000:01:00.0", regexp.MustCompile(`^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]$`).MatchString}
	deviceID   = validValue{"four lower-case hexadecimal digits", regexp.MustCompile(`^[0-9a-f]{4}$`).MatchString}
	usbNumber  = validValue{"a number", func(value string) bool { _, err := strconv.ParseUint(value, 10, 32); return err == nil }}
)

// DeviceProblem says why a VM cannot have a device, and which part of it is wrong: "type",
// "properties", "properties.pci", or none for its name. Empty: it can.
func DeviceProblem(name, deviceType string, has map[string]string) (part fieldpath.Path, problem string) {
	switch {
	case !deviceNamePattern.MatchString(name):
		return fieldpath.Path{}, fmt.Sprintf("%q is not a valid device name: use 1 to 63 letters, digits, hyphens, underscores and dots, with a letter or digit at both ends.", name)
	case ownDevicePattern.MatchString(name):
		return fieldpath.Path{}, fmt.Sprintf("%q is the name of a disk or an interface of the VM. Choose another name.", name)
	case !IsDeviceType(deviceType):
		return fieldpath.New("type"), fmt.Sprintf("A VM cannot be given a device of the type %q, only of: %s. For disks and interfaces write disks and interfaces; an LXD profile may bring others.",
			deviceType, strings.Join(DeviceTypes(), ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(has)) {
		switch {
		case !slices.Contains(deviceProperties[deviceType], key):
			return fieldpath.New("properties").Key(key), fmt.Sprintf("A %s device of a VM has no property %q. It has: %s.", deviceType, key, joinNames(deviceProperties[deviceType]))
		case has[key] == "":
			return fieldpath.New("properties").Key(key), fmt.Sprintf("The value of %q is empty. Remove the property.", key)
		case validProperty[key].test != nil && !validProperty[key].test(has[key]):
			return fieldpath.New("properties").Key(key), fmt.Sprintf("%q is %s, not %q.", key, validProperty[key].words, has[key])
		}
	}
	return requiredProblem(deviceType, has)
}

// requiredProblem refuses a device that lacks a property that LXD requires.
func requiredProblem(deviceType string, has map[string]string) (part fieldpath.Path, problem string) {
	switch {
	case deviceType == "pci" && has["address"] == "":
		return fieldpath.New("properties"), `A pci device needs its address on the host. Write address = "0000:01:00.0".`
	case deviceType == "gpu" && has["pci"] != "" && has["id"]+has["productid"]+has["vendorid"] != "":
		return fieldpath.New("properties"), "With pci, a gpu device needs no other name. Remove id, productid and vendorid, or pci."
	case deviceType == "gpu" && has["id"] != "" && has["productid"]+has["vendorid"] != "":
		return fieldpath.New("properties"), "With id, a gpu device needs no other name. Remove productid and vendorid, or id."
	case has["gputype"] == "mdev" && has["mdev"] == "":
		return fieldpath.New("properties"), `A gpu device of the gputype mdev needs the property mdev: see lxc info --resources on the host.`
	}
	return fieldpath.Path{}, ""
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
