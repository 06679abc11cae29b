package identity_test

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/identity"
)

// TestDefaultNamespaces: the manager's own credentials, an administrator's, are for
// the namespaces that the operator names; without any they are for all.
func TestDefaultNamespaces(t *testing.T) {
	t.Parallel()
	objects := []client.Object{newSecret(managerNamespace, "maas-credentials", "apiKey", key), newEndpointConfigMap("maasEndpoint", "http://own/MAAS")}
	for name, tc := range map[string]struct {
		namespaces []string
		may        bool
	}{"Unset": {nil, true}, "Named": {[]string{"team-b", team}, true}, "Others": {[]string{"team-b"}, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := identity.Finder{Reader: newReader(t, objects...), Namespace: managerNamespace, DefaultNamespaces: tc.namespaces}
			_, err := f.Find(t.Context(), nil, team)
			missing, ok := errors.AsType[*controller.CredentialsError](err)
			if (err == nil) != tc.may || ok && missing.Reason != infrav1.IdentityNotAllowedReason {
				t.Errorf("the namespace may: %v, want %v: %v", err == nil, tc.may, err)
			}
		})
	}
}
