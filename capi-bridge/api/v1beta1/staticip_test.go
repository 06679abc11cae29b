package v1beta1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestStaticIPKeepsItsForm(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   StaticIP
	}{
		"Text":       {"The short form.", `"10.0.0.5"`, StaticIP{IP: "10.0.0.5", Short: true}},
		"Object":     {"The long form.", `{"ip":"10.0.0.5","cidr":"10.0.0.0/24"}`, StaticIP{IP: "10.0.0.5", CIDR: "10.0.0.0/24"}},
		"All":        {"What validation refuses is read all the same.", `{"ip":"10.0.0.5","gateway":"10.0.0.1","nameservers":["10.0.0.2"]}`, StaticIP{IP: "10.0.0.5", Gateway: "10.0.0.1", Nameservers: []string{"10.0.0.2"}}},
		"Empty":      {"Waits for an address.", `{"cidr":"10.0.0.0/24"}`, StaticIP{CIDR: "10.0.0.0/24"}},
		"Number":     {"An object that cannot be read would stop all others.", `5`, StaticIP{Unreadable: `5`}},
		"List":       {"The same.", `["10.0.0.5"]`, StaticIP{Unreadable: `["10.0.0.5"]`}},
		"UnknownKey": {"A slip of the pen must not be lost.", `{"address":"10.0.0.5"}`, StaticIP{Unreadable: `{"address":"10.0.0.5"}`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got MaasMachineSpec
			if err := json.Unmarshal([]byte(`{"image":"ubuntu/noble","staticIP":`+tc.text+`}`), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got.StaticIP); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			written, err := json.Marshal(got.StaticIP)
			if err != nil || string(written) != tc.text {
				t.Errorf("%s\nwritten as %s, %v, want %s", tc.reason, written, err, tc.text)
			}
		})
	}
}

func TestStaticIPIsChecked(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		have   *StaticIP
		ip     string // "": none
		subnet string // "": none
		wrong  []string
	}{
		"None":        {"Most machines have none.", nil, "", "", nil},
		"EmptyText":   {"An empty string says nothing.", &StaticIP{Short: true}, "", "", nil},
		"IP":          {"The subnet is looked up.", &StaticIP{IP: "10.0.0.5"}, "10.0.0.5", "", nil},
		"CIDR":        {"The subnet is given.", &StaticIP{IP: "10.0.0.5", CIDR: "10.0.0.0/24"}, "10.0.0.5", "10.0.0.0/24", nil},
		"HostInCIDR":  {"The host part of a CIDR says nothing.", &StaticIP{IP: "10.0.0.5", CIDR: "10.0.0.9/24"}, "10.0.0.5", "10.0.0.0/24", nil},
		"IPv6":        {"MAAS has IPv6, too.", &StaticIP{IP: "fd00::5", CIDR: "fd00::/64"}, "fd00::5", "fd00::/64", nil},
		"Mapped":      {"The same address in another way.", &StaticIP{IP: "::ffff:10.0.0.5", CIDR: "10.0.0.0/24"}, "10.0.0.5", "10.0.0.0/24", nil},
		"Waiting":     {"Somebody fills it in later.", &StaticIP{CIDR: "10.0.0.0/24"}, "", "10.0.0.0/24", nil},
		"Prefix":      {"A prefix belongs to cidr.", &StaticIP{IP: "10.0.0.5/24", Short: true}, "", "", []string{"spec.staticIP"}},
		"NoIP":        {"Not an address.", &StaticIP{IP: "ten"}, "", "", []string{"spec.staticIP.ip"}},
		"Zone":        {"An interface of this program's is none of the machine's.", &StaticIP{IP: "fe80::1%eth0"}, "", "", []string{"spec.staticIP.ip"}},
		"NoCIDR":      {"Not a subnet.", &StaticIP{IP: "10.0.0.5", CIDR: "10.0.0.0"}, "10.0.0.5", "", []string{"spec.staticIP.cidr"}},
		"Outside":     {"The two contradict each other.", &StaticIP{IP: "10.0.1.5", CIDR: "10.0.0.0/24"}, "10.0.1.5", "10.0.0.0/24", []string{"spec.staticIP.ip"}},
		"Gateway":     {"CAPMaaS took it: templates that stand in the API cannot be changed.", &StaticIP{IP: "10.0.0.5", Gateway: "10.0.0.1"}, "10.0.0.5", "", nil},
		"Nameservers": {"CAPMaaS took them, too.", &StaticIP{IP: "10.0.0.5", Nameservers: []string{"10.0.0.1"}}, "10.0.0.5", "", nil},
		"Unreadable":  {"Neither form.", &StaticIP{Unreadable: "5"}, "", "", []string{"spec.staticIP"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := field.NewPath("spec", "staticIP")
			ip, subnet, errs := tc.have.resolve(at)
			if diff := cmp.Diff(tc.wrong, errorFields(errs)); diff != "" {
				t.Errorf("%s\nfields: -want +got:\n%s\n%v", tc.reason, diff, errs)
			}
			if ip.IsValid() != (tc.ip != "") || ip.IsValid() && ip.String() != tc.ip {
				t.Errorf("%s\naddress %s, want %q", tc.reason, ip, tc.ip)
			}
			if subnet.IsValid() != (tc.subnet != "") || subnet.IsValid() && subnet.String() != tc.subnet {
				t.Errorf("%s\nsubnet %s, want %q", tc.reason, subnet, tc.subnet)
			}
		})
	}
}

// errorFields are the fields that errors name.
func errorFields(errs field.ErrorList) []string {
	var names []string
	for _, err := range errs {
		names = append(names, err.Field)
	}
	return names
}
