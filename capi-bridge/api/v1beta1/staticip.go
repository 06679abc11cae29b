package v1beta1

import (
	"bytes"
	"encoding/json"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StaticIP is an address that a machine gets and keeps while it lives. In JSON
// it is a string, "10.0.0.5", or an object, {"ip": "10.0.0.5", "cidr":
// "10.0.0.0/24"}. Any other value is read as well, and validation refuses it.
// If one object in the API server could not be read, it would block all others.
//
// +kubebuilder:validation:XPreserveUnknownFields
type StaticIP struct {
	// ip is the address.
	// +optional
	IP string `json:"ip,omitempty"`

	// cidr is the subnet of the address in MAAS: "10.0.0.0/24". It is needed
	// where several subnets have the address.
	// +optional
	CIDR string `json:"cidr,omitempty"`

	// gateway has no effect: MAAS uses the subnet's gateway.
	// +optional
	Gateway string `json:"gateway,omitempty"`

	// nameservers have no effect: MAAS uses the subnet's nameservers.
	// +optional
	Nameservers []string `json:"nameservers,omitempty"`

	// Short is true where the address was given as a string.
	Short bool `json:"-"`
	// Unreadable is the JSON of a value that is neither a string nor an object.
	Unreadable string `json:"-"`
}

// staticIPFields is a StaticIP without its methods.
type staticIPFields StaticIP

// MarshalJSON writes the form that was read.
func (s StaticIP) MarshalJSON() ([]byte, error) {
	switch {
	case s.Unreadable != "":
		return []byte(s.Unreadable), nil
	case s.Short:
		return json.Marshal(s.IP)
	default:
		return json.Marshal(staticIPFields(s))
	}
}

// UnmarshalJSON reads both forms, and keeps the JSON of anything else.
func (s *StaticIP) UnmarshalJSON(text []byte) error {
	*s = StaticIP{}
	if json.Unmarshal(text, &s.IP) == nil {
		s.Short = true
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*staticIPFields)(s)); err != nil {
		*s = StaticIP{Unreadable: string(text)}
	}
	return nil
}

// IsZero is true where there is no address: "" and {} mean the same as leaving
// it out.
func (s *StaticIP) IsZero() bool {
	return s == nil || s.IP == "" && s.CIDR == "" && s.Gateway == "" && len(s.Nameservers) == 0 && s.Unreadable == ""
}

// resolve returns the address and, where it is given, its subnet.
func (s *StaticIP) resolve(at *field.Path) (netip.Addr, netip.Prefix, field.ErrorList) {
	var (
		none   netip.Addr
		subnet netip.Prefix
		errs   field.ErrorList
	)
	if s.IsZero() {
		return none, subnet, nil
	}
	if s.Unreadable != "" {
		return none, subnet, field.ErrorList{field.Invalid(at, s.Unreadable,
			`is neither an address nor an object with ip and cidr; write "10.0.0.5" or {ip: 10.0.0.5, cidr: 10.0.0.0/24}`)}
	}
	ipAt := at.Child("ip")
	if s.Short {
		ipAt = at
	}
	// Without an address the machine waits until somebody fills it in.
	ip, err := netip.ParseAddr(s.IP)
	if s.IP != "" && (err != nil || ip.Zone() != "") {
		return none, subnet, append(errs, field.Invalid(ipAt, s.IP, `is not an IP address; write it without a prefix, such as "10.0.0.5"`))
	}
	if ip = ip.Unmap(); s.CIDR == "" {
		return ip, subnet, errs
	}
	subnet, err = netip.ParsePrefix(s.CIDR)
	switch {
	case err != nil:
		errs = append(errs, field.Invalid(at.Child("cidr"), s.CIDR, `is not a subnet; write it like "10.0.0.0/24"`))
	case ip.IsValid() && !subnet.Contains(ip):
		errs = append(errs, field.Invalid(ipAt, s.IP, "is not in "+s.CIDR+"; correct ip or cidr"))
	}
	return ip, subnet.Masked(), errs
}

// IgnoredFields names the fields of a static address that have no effect. MAAS
// configures the subnet's gateway and nameservers. CAPMaaS accepted both fields
// and used neither.
func (s *StaticIP) IgnoredFields(at *field.Path) []string {
	var ignored []string
	if s.IsZero() {
		return nil
	}
	if s.Gateway != "" {
		ignored = append(ignored, at.Child("gateway").String())
	}
	if len(s.Nameservers) > 0 {
		ignored = append(ignored, at.Child("nameservers").String())
	}
	return ignored
}
