package replay

import (
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// TestMatcher checks that the replay notices differences.
func TestMatcher(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason              string
		recorded, simulated string
		differs             bool
	}{
		"Same":             {"nothing differs", `{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1}`, false},
		"Value":            {"a value is not what it was", `{"a":1}`, `{"a":2}`, true},
		"KeyMissing":       {"a client may read the key", `{"a":1,"b":2}`, `{"a":1}`, true},
		"KeyMore":          {"MAAS does not send the key", `{"a":1}`, `{"a":1,"b":2}`, true},
		"WholeForFraction": {"8000.0 does not fit an integer", `{"a":8000.0}`, `{"a":8000}`, true},
		"TextForNumber":    {"the type counts", `{"a":1}`, `{"a":"1"}`, true},
		"NullForEmpty":     {"null is no empty text", `{"a":null}`, `{"a":""}`, true},
		"Shorter":          {"a list lost an entry", `{"a":[1,2]}`, `{"a":[1]}`, true},
		"Order":            {"lists keep their order", `{"a":[1,2]}`, `{"a":[2,1]}`, true},
		"OrderOfTags":      {"tags have none", `{"tags":["x","y"]}`, `{"tags":["y","x"]}`, false},
		"OtherTags":        {"but they are compared", `{"tags":["x","y"]}`, `{"tags":["x","z"]}`, true},
		"SystemID":         {"ids are made up", `{"system_id":"abcdef"}`, `{"system_id":"ghkmnp"}`, false},
		"SystemIDTwice":    {"one machine has one id", `[{"system_id":"abcdef"},{"system_id":"abcdef"}]`, `[{"system_id":"ghkmnp"},{"system_id":"qrstwx"}]`, true},
		"SystemIDShared":   {"two machines have two", `[{"system_id":"abcdef"},{"system_id":"ghkmnp"}]`, `[{"system_id":"qrstwx"},{"system_id":"qrstwx"}]`, true},
		"URIOfOther":       {"an address names the same machine", `{"resource_uri":"/MAAS/api/2.0/machines/abcdef/","system_id":"abcdef"}`, `{"resource_uri":"/MAAS/api/2.0/machines/ghkmnp/","system_id":"qrstwx"}`, true},
		"SpokenName":       {"a name that was asked for is kept", `{"hostname":"web1"}`, `{"hostname":"web2"}`, true},
		"Petname":          {"a name that nobody asked for is made up", `{"hostname":"cute-hog"}`, `{"hostname":"calm-owl"}`, false},
		"NoPetname":        {"but it is one", `{"hostname":"cute-hog"}`, `{"hostname":"vm1"}`, true},
		"Moment":           {"times have a form", `{"created":"2026-11-20T12:26:26.669"}`, `{"created":"yesterday"}`, true},
		"FarAddress":       {"an address is of the same network", `{"ip_address":"10.77.0.157"}`, `{"ip_address":"10.78.0.1"}`, true},
		"Server":           {"the recorded server's disks differ in size", `{"power_type":"","node_type_name":"Machine","storage":1.5}`, `{"power_type":"","node_type_name":"Machine","storage":2.5}`, false},
		"ServersNICs":      {"taps come and go", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","name":"a"},{"type":"physical","name":"b"}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","name":"c"}]}`, false},
		"ServersNICForm":   {"but each has its form", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","vlan":{"id":1}}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","vlan":{"id":1}},{"type":"physical","vlan":null}]}`, true},
		"ServersNull":      {"null has no other form", `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":null}}`, `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":1}}`, true},
		"ServersKey":       {"MAAS does not send the key", `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":1}}`, `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":1,"more":1}}`, true},
		"ServersBridge":    {"VMs join it", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0"}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0"},{"type":"bridge","name":"br1"}]}`, true},
		"ServersDHCP":      {"VMs boot by it", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","vlan":{"dhcp_on":true}}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","vlan":{"dhcp_on":false}}]}`, true},
		"ServersLink":      {"an address is static there", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","links":[{"mode":"static"}]}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","links":[{"mode":"auto"}]}]}`, true},
		"NoServer":         {"those of VMs do not", `{"power_type":"lxd","node_type_name":"Machine","storage":1.5}`, `{"power_type":"lxd","node_type_name":"Machine","storage":2.5}`, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMatcher(map[string]bool{"web1": true})
			recorded, errRecorded := recording.DecodeJSON([]byte(tc.recorded))
			simulated, errSimulated := recording.DecodeJSON([]byte(tc.simulated))
			if errRecorded != nil || errSimulated != nil {
				t.Fatal(errRecorded, errSimulated)
			}
			m.compareValue("$machines", recorded, simulated)
			if differs := len(m.problems) > 0; differs != tc.differs {
				t.Errorf("%s: differs %v, want %v: %q", tc.reason, differs, tc.differs, m.problems)
			}
		})
	}
}
