package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/internal/instance"
)

// StandardProfile is the LXD profile of a VM that names none, if the project has it. MAAS never
// gives another one (drivers/pod/lxd.py, LXD_MAAS_PROFILE).
const StandardProfile = "maas"

// CheckProfile says why a VM on the host cannot have the LXD profile; nil: it can, or names
// none. The error is a *SpecError where MAAS makes the VMs, and else an *Error,
// ProfileNotFound.
func (h VMHost) CheckProfile(name string) error {
	switch {
	case name == "" || slices.Contains(h.offeredProfiles(), name):
		return nil
	case h.MAASMakesVMs():
		return CheckProfileOfMAAS(name)
	}
	return MarkTerminal(&Error{
		Type: ProfileNotFound, Host: h.Name, Message: fmt.Sprintf("the project %q has no profile %q", h.Project, name),
		Hint: fmt.Sprintf("It has: %s. Make one on the host: lxc profile create %s --project %s.", JoinNames(h.Profiles), name, h.Project),
	})
}

// leaveOut is the way out for what MAAS cannot give a VM.
const leaveOut = "Leave it out."

// CheckProfileOfMAAS says why a VM that MAAS makes cannot have the LXD profile, by a
// *SpecError. Nil: it can, or names none.
func CheckProfileOfMAAS(name string) error {
	if name == "" || name == StandardProfile {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("profile"), Message: fmt.Sprintf("a VM that MAAS composes cannot have the LXD profile %q: MAAS always uses its own, %q, if the project has it", name, StandardProfile),
		Hint: leaveOut, Ways: []Way{WayComposeInLXD}, Err: ErrInvalid,
	}
}

// Device is an LXD device of a VM beside its disks and NICs.
type Device struct {
	Type       string            // "gpu", "pci", "tpm" or "usb"
	Properties map[string]string // as LXD names them
}

// Problem says why a VM cannot have the device of that name, and names the wrong part, such as
// "type" or "properties.pci". Empty: it can.
func (d Device) Problem(name string) (part fieldpath.Path, problem string) {
	return instance.DeviceProblem(name, d.Type, d.Properties)
}

// IsHotPlugged tells whether LXD adds and removes the device while the VM runs.
func (d Device) IsHotPlugged() bool { return instance.IsHotPlugged(d.Type) }

// Equal tells whether both are the same device.
func (d Device) Equal(other Device) bool {
	return d.Type == other.Type && maps.Equal(d.Properties, other.Properties)
}

// DeviceTypes lists the allowed types of devices of a VM.
func DeviceTypes() []string { return instance.DeviceTypes() }

// InstanceOptionProblem says why a VM cannot have an instance option of LXD, and the way out;
// empty: it can.
func InstanceOptionProblem(key, value string) string { return instance.OptionProblem(key, value) }

// IsInstanceOptionAllowed tells whether a VM may have an instance option, with some value.
func IsInstanceOptionAllowed(key string) bool { return instance.IsAllowed(key) }

// IsInstanceOptionLive tells whether LXD changes an option while the VM runs.
func IsInstanceOptionLive(key string) bool { return instance.IsLive(key) }

// OptionsOf returns the allowed options of an instance. It is never nil.
func OptionsOf(config map[string]string) map[string]string {
	found := map[string]string{}
	for key, value := range config {
		if instance.IsAllowed(key) {
			found[key] = value
		}
	}
	return found
}

// DevicesOf returns the allowed devices of an instance. It is never nil.
func DevicesOf(devices map[string]map[string]string) map[string]Device {
	found := map[string]Device{}
	for name, properties := range devices {
		if instance.IsDeviceType(properties["type"]) {
			found[name] = DeviceOf(properties)
		}
	}
	return found
}

// DeviceOf reads a device as LXD has it.
func DeviceOf(properties map[string]string) Device {
	d := Device{Type: properties["type"], Properties: maps.Clone(properties)}
	delete(d.Properties, "type")
	return d
}

// LXDProperties is the device as LXD has it.
func (d Device) LXDProperties() map[string]string {
	properties := map[string]string{"type": d.Type}
	maps.Copy(properties, d.Properties)
	return properties
}

// ValidateInstance checks options and devices without asking LXD. The error is a *SpecError.
func ValidateInstance(config map[string]string, devices map[string]Device) error {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if problem := InstanceOptionProblem(key, config[key]); problem != "" {
			return &SpecError{Field: fieldpath.New("config").Key(key), Message: problem}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		if part, problem := devices[name].Problem(name); problem != "" {
			return &SpecError{Field: fieldpath.New("devices").Key(name).Join(part), Message: problem}
		}
	}
	return nil
}

func (s VMSpec) validateInstance() error { return ValidateInstance(s.Config, s.Devices) }

// CheckInstance says why a VM on the host cannot have the wanted profile, options or devices;
// nil: it can.
func (h VMHost) CheckInstance(s VMSpec) error {
	if err := h.CheckProfile(s.Profile); err != nil {
		return err
	}
	if h.MAASMakesVMs() {
		return errors.Join(CheckInstanceOfMAAS(len(s.Config), len(s.Devices)), CheckInterfacesOfMAAS(s.Interfaces))
	}
	return h.CheckBootMode(s.Config)
}

// CheckInstanceOfMAAS refuses options and devices of LXD for a VM that MAAS makes, by a
// *SpecError. Nil: there are none.
func CheckInstanceOfMAAS(options, devices int) error {
	refusal := &SpecError{Hint: leaveOut, Ways: []Way{WayComposeInLXD}, Err: ErrInvalid}
	switch {
	case options > 0:
		refusal.Field, refusal.Message = fieldpath.New("config"), "a VM that MAAS composes cannot be given instance options of LXD: MAAS sets them itself"
	case devices > 0:
		refusal.Field, refusal.Message = fieldpath.New("devices"), "a VM that MAAS composes cannot be given devices of LXD: MAAS gives it disks and interfaces only"
	default:
		return nil
	}
	return refusal
}

// CheckInterfacesOfMAAS refuses a chosen bridge or MAC for a VM that MAAS makes, by a
// *SpecError; nil: it wants none. MAAS finds a bridge by the subnet, and LXD makes the MAC
// (forms/pods.py, INTERFACES_CONSTRAINTS).
func CheckInterfacesOfMAAS(interfaces []Interface) error {
	for _, i := range interfaces {
		switch {
		case i.MAC != "":
			return &SpecError{Field: i.Field("mac_address"), Message: "a VM that MAAS composes cannot be given a MAC address: its LXD makes one", Hint: leaveOut, Ways: []Way{WayComposeInLXD}, Err: ErrInvalid}
		case i.Bridge != "":
			return &SpecError{Field: i.Field("bridge"), Message: "a VM that MAAS composes cannot be given a bridge: MAAS finds one by the subnet", Hint: leaveOut, Ways: []Way{WayComposeInLXD}, Err: ErrInvalid}
		}
	}
	return nil
}

// CheckInterfaceChangeOfMAAS refuses every change of the interfaces of a VM that MAAS made, by
// a *SpecError.
func CheckInterfaceChangeOfMAAS(c InterfaceChange) error {
	labels := slices.Clone(c.Removed)
	for _, nic := range c.Added {
		labels = append(labels, nic.Label)
	}
	if len(labels) == 0 {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("interfaces").Key(labels[0]), Message: "MAAS can neither add nor remove an interface of a VM that it composed",
		Hint: "Replace the VM.", Ways: []Way{WayComposeInLXD}, Err: ErrConflict,
	}
}

// CheckBootMode refuses the secure boot option that the LXD of the host does not have, by a
// *SpecError. From 6.7 on, LXD has boot.mode instead of security.secureboot.
func (h VMHost) CheckBootMode(config map[string]string) error {
	has, lacks := instance.SecureBoot, instance.BootMode
	if h.HasBootMode {
		has, lacks = lacks, has
	}
	if _, wanted := config[lacks]; !wanted || h.Version == "" {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("config").Key(lacks), Message: fmt.Sprintf("the LXD of host %s, %s, does not have %q", h.Name, h.Version, lacks),
		Hint: fmt.Sprintf("Use %q instead.", has), Err: ErrInvalid,
	}
}

// offeredProfiles are the profiles that a VM on the host may name.
func (h VMHost) offeredProfiles() []string {
	if h.MAASMakesVMs() {
		return []string{StandardProfile}
	}
	return h.Profiles
}

// JoinNames makes a list for people, "none" if it is empty.
func JoinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
