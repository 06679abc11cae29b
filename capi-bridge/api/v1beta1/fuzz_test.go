package v1beta1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FuzzStaticIP: whatever is stored is read, written as it was read, and an address or
// an error.
func FuzzStaticIP(f *testing.F) {
	for _, seed := range []string{`"10.0.0.5"`, `{"ip":"10.0.0.5","cidr":"10.0.0.0/24"}`, `{"ip":"::ffff:1.2.3.4","cidr":"::/0"}`, `[1]`, `null`, `{"IP":"x","ip":"y"}`, `"fe80::1%eth0"`, `{"gateway":"x","nameservers":[""]}`, `1e999`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s, again StaticIP
		if !json.Valid(text) {
			return
		}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatalf("%q stops all objects: %v", text, err)
		}
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%q became %q: %v", text, written, err)
		}
		rewritten, err := json.Marshal(again)
		if diff := cmp.Diff(string(written), string(rewritten)); err != nil || diff != "" {
			t.Fatalf("%q is written otherwise the second time: %v (-first +second):\n%s", text, err, diff)
		}
		ip, subnet, errs := s.resolve(field.NewPath("staticIP"))
		if len(errs) == 0 && ip.IsValid() && subnet.IsValid() && !subnet.Contains(ip) {
			t.Fatalf("%q is %s, outside of %s", text, ip, subnet)
		}
		s.IgnoredFields(field.NewPath("staticIP"))
	})
}

// FuzzMachineSpec: a spec that can be stored is understood or refused, and the same
// after it was written.
func FuzzMachineSpec(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"minCPU":1,"minMemory":1024,"image":"ubuntu/noble","lxd":{"vmConfig":{"cores":1}}}`,
		`{"failureDomain":"a","resourcePool":"b","staticIP":{"ip":"1.2.3.4"},"provisioningMode":"lxd","rootDisk":"60Gi","tags":["a"]}`,
		`{"providerID":"maas:///az1/abc","staticIP":5,"tags":[""],"minCPU":-1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var m, again MaasMachine
		if json.Unmarshal(text, &m.Spec) != nil {
			return
		}
		written, err := json.Marshal(m.Spec)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := json.Unmarshal(written, &again.Spec); err != nil {
			t.Fatalf("%q became %q: %v", text, written, err)
		}
		_, first := m.Spec.Resolve(field.NewPath("spec"))
		_, second := again.Spec.Resolve(field.NewPath("spec"))
		if (len(first) == 0) != (len(second) == 0) {
			t.Fatalf("%q: %v, and once written %q: %v", text, first, written, second)
		}
	})
}
