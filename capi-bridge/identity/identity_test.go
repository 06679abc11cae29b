package identity_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/identity"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

const (
	managerNamespace = infrav1.DefaultNamespace
	team             = "team-a"
	// key is the API key of no MAAS.
	key = "consumerPart00001:tokenPart000000002:secretPart00000000000000003"
)

func newSecret(namespace, name string, data ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for i := 0; i < len(data); i += 2 {
		s.Data[data[i]] = []byte(data[i+1])
	}
	return s
}

func newEndpointConfigMap(data ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: infrav1.EndpointConfigMap}, Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		c.Data[data[i]] = data[i+1]
	}
	return c
}

func newIdentity(name, endpoint, secretNamespace string, may *infrav1.AllowedNamespaces) *infrav1.MaasClusterIdentity {
	return &infrav1.MaasClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.MaasClusterIdentitySpec{
		Endpoint: endpoint, SecretRef: infrav1.SecretReference{Name: name + "-key", Namespace: secretNamespace}, AllowedNamespaces: may,
	}}
}

// newReader is an API server in memory that has copies of the objects: it writes
// resource versions into what it is given, and parallel tests share that.
func newReader(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	var copies []client.Object
	for _, o := range objects {
		copies = append(copies, o.DeepCopyObject().(client.Object))
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), infrav1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(copies...).Build()
}

func newGetenv(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// TestFindCredentials: credentials are found in their order, and what is missing is named.
func TestFindCredentials(t *testing.T) {
	t.Parallel()
	everybody := &infrav1.AllowedNamespaces{}
	ref := &infrav1.MaasIdentityReference{Name: "lab"}
	cases := map[string]struct {
		reason   string
		ref      *infrav1.MaasIdentityReference
		objects  []client.Object
		env      func(string) string
		endpoint string // of what is found
		failure  string // reason of the condition
		says     string
	}{
		"Own": {
			reason:   "The manager's own Secret and ConfigMap come first.",
			objects:  []client.Object{newSecret(managerNamespace, "maas-credentials", "apiKey", key+"\n"), newEndpointConfigMap("maasEndpoint", " http://own/MAAS\n"), newSecret(managerNamespace, "capmaas-manager-bootstrap-credentials", "MAAS_ENDPOINT", "http://old/MAAS", "MAAS_API_KEY", key)},
			env:      newGetenv("MAAS_ENDPOINT", "http://env/MAAS", "MAAS_API_KEY", key),
			endpoint: "http://own/MAAS",
		},
		"Bootstrap": {
			reason:   "Then the Secret of an earlier provider.",
			objects:  []client.Object{newSecret(managerNamespace, "capmaas-manager-bootstrap-credentials", "MAAS_ENDPOINT", "http://old/MAAS", "MAAS_API_KEY", key)},
			env:      newGetenv("MAAS_ENDPOINT", "http://env/MAAS", "MAAS_API_KEY", key),
			endpoint: "http://old/MAAS",
		},
		"Environment":      {reason: "Then the environment.", env: newGetenv("MAAS_ENDPOINT", "http://env/MAAS", "MAAS_API_KEY", key), endpoint: "http://env/MAAS"},
		"EnvironmentNames": {reason: "It has two names for each.", env: newGetenv("MAAS_API_URL", "http://env2/MAAS", "MAAS_API_TOKEN", key), endpoint: "http://env2/MAAS"},
		"EnvironmentHalf":  {reason: "An address without a key is no credential.", env: newGetenv("MAAS_API_URL", "http://env2/MAAS"), failure: "CredentialsNotFound", says: "environment has no MAAS_API_KEY"},
		"EnvironmentCA":    {reason: "A path that leads nowhere is a mistake.", env: newGetenv("MAAS_API_URL", "https://e", "MAAS_API_KEY", key, "MAAS_API_CACERT", "/nowhere.pem"), failure: "InvalidSpec", says: "MAAS_API_CACERT"},
		"Nothing":          {reason: "Nobody said anything.", failure: "CredentialsNotFound", says: "namespace capmaas-system"},
		"NoConfigMap": {
			reason: "A Secret alone does not say where MAAS is.", objects: []client.Object{newSecret(managerNamespace, "maas-credentials", "apiKey", key)},
			failure: "CredentialsNotFound", says: "ConfigMap capmaas-system/capmaas-config has no maasEndpoint",
		},
		"NoSecret": {
			reason: "A ConfigMap alone has no key.", objects: []client.Object{newEndpointConfigMap("maasEndpoint", "http://own/MAAS")},
			failure: "CredentialsNotFound", says: "Secret capmaas-system/maas-credentials has no apiKey",
		},
		"OtherNamespace": {
			reason: "Secrets of other namespaces are none of ours.", objects: []client.Object{newSecret(team, "maas-credentials", "apiKey", key), newEndpointConfigMap("maasEndpoint", "http://own/MAAS")},
			failure: "CredentialsNotFound", says: "Secret capmaas-system/maas-credentials",
		},
		"Identity": {
			reason: "An identity wins over the manager's own.", ref: ref,
			objects:  []client.Object{newIdentity("lab", "http://lab/MAAS", "", everybody), newSecret(managerNamespace, "lab-key", "apiKey", key), newEndpointConfigMap("maasEndpoint", "http://own/MAAS")},
			endpoint: "http://lab/MAAS",
		},
		"IdentitySecretElsewhere": {
			reason: "Anyone who makes identities could have the apiKey of any Secret sent anywhere.", ref: ref,
			objects: []client.Object{newIdentity("lab", "http://lab/MAAS", "vault", everybody), newSecret("vault", "lab-key", "apiKey", key)},
			failure: "IdentityNotAllowed", says: "Secret of the namespace vault",
		},
		"IdentitySecretInOwn": {
			reason: "The manager's own namespace may be named.", ref: ref,
			objects: []client.Object{newIdentity("lab", "http://lab/MAAS", managerNamespace, everybody), newSecret(managerNamespace, "lab-key", "apiKey", key)}, endpoint: "http://lab/MAAS",
		},
		"Tenant": {
			reason: "A tenant brings a MAAS of its own.", ref: &infrav1.MaasIdentityReference{Kind: infrav1.IdentityKindSecret, Name: "mine"},
			objects: []client.Object{newSecret(team, "mine", "apiKey", key, "maasEndpoint", "http://mine/MAAS"), newSecret(managerNamespace, "mine", "apiKey", key)}, endpoint: "http://mine/MAAS",
		},
		"TenantOfAnother": {
			reason: "A Secret of another namespace is another tenant's.", ref: &infrav1.MaasIdentityReference{Kind: infrav1.IdentityKindSecret, Name: "theirs"},
			objects: []client.Object{newSecret("team-b", "theirs", "apiKey", key, "maasEndpoint", "http://theirs/MAAS")},
			failure: "CredentialsNotFound", says: "Secret team-a/theirs",
		},
		"IdentityMissing":       {reason: "There is no identity of this name.", ref: ref, failure: "IdentityNotFound", says: "MaasClusterIdentity lab"},
		"IdentitySecretMissing": {reason: "Its Secret is not there.", ref: ref, objects: []client.Object{newIdentity("lab", "http://lab/MAAS", "", everybody)}, failure: "CredentialsNotFound", says: "Secret capmaas-system/lab-key"},
		"IdentityKeyMissing": {
			reason: "Its Secret has another key.", ref: ref, objects: []client.Object{newIdentity("lab", "http://lab/MAAS", "", everybody), newSecret(managerNamespace, "lab-key", "apikey", key)},
			failure: "CredentialsNotFound", says: "has no apiKey",
		},
		"NobodyAllowed": {
			reason: "Without allowedNamespaces nobody may.", ref: ref, objects: []client.Object{newIdentity("lab", "http://lab/MAAS", "", nil), newSecret(managerNamespace, "lab-key", "apiKey", key)},
			failure: "IdentityNotAllowed", says: "namespace team-a",
		},
		"OthersAllowed": {
			reason: "The list does not have the namespace.", ref: ref,
			objects: []client.Object{newIdentity("lab", "http://lab/MAAS", "", &infrav1.AllowedNamespaces{List: []string{"team-b"}}), newSecret(managerNamespace, "lab-key", "apiKey", key)},
			failure: "IdentityNotAllowed", says: "namespace team-a",
		},
		"ListAllowed": {
			reason: "The list has it.", ref: ref,
			objects: []client.Object{newIdentity("lab", "http://lab/MAAS", "", &infrav1.AllowedNamespaces{List: []string{"team-b", team}}), newSecret(managerNamespace, "lab-key", "apiKey", key)}, endpoint: "http://lab/MAAS",
		},
		"LabelsAllowed": {
			reason: "Its labels fit.", ref: ref, endpoint: "http://lab/MAAS",
			objects: []client.Object{
				newIdentity("lab", "http://lab/MAAS", "", &infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"lab": "yes"}}}),
				newSecret(managerNamespace, "lab-key", "apiKey", key), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team, Labels: map[string]string{"lab": "yes"}}},
			},
		},
		"LabelsDenied": {
			reason: "Its labels do not fit.", ref: ref, failure: "IdentityNotAllowed",
			objects: []client.Object{
				newIdentity("lab", "http://lab/MAAS", "", &infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"lab": "yes"}}}),
				newSecret(managerNamespace, "lab-key", "apiKey", key), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := identity.Finder{Reader: newReader(t, tc.objects...), Namespace: managerNamespace, Getenv: tc.env}.Find(t.Context(), tc.ref, team)
			if tc.failure != "" {
				wantFailure(t, tc.reason, err, tc.failure, tc.says)
				return
			}
			if err != nil || got.Endpoint != tc.endpoint || got.APIKey != key {
				t.Errorf("%s\nfound %v, %v; want %s", tc.reason, got, err, tc.endpoint)
			}
			if strings.Contains(got.String(), "secretPart") || strings.Contains(got.GoString(), "secretPart") {
				t.Errorf("the key shows in %v", got)
			}
		})
	}
}

func wantFailure(t *testing.T, why string, err error, reason, says string) {
	t.Helper()
	missing, ok := errors.AsType[*controller.CredentialsError](err)
	if !ok || missing.Reason != reason || !strings.Contains(missing.Message, says) || missing.Hint == "" {
		t.Errorf("%s\nthe error is %#v; want %s: …%s…", why, err, reason, says)
	}
	if err != nil && strings.Contains(err.Error(), "secretPart") {
		t.Errorf("the key shows in %v", err)
	}
}

// hideSecretOnce reads objects, and does not see a Secret called lxd the first time.
func hideSecretOnce(t *testing.T, from client.Client) client.Reader {
	t.Helper()
	seen := false
	return interceptor.NewClient(from.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if key.Name == "lxd" && !seen {
				seen = true
				return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
			}
			return c.Get(ctx, key, into, opts...)
		},
	})
}

// testSites is a manager's Sites with objects and a clock.
type testSites struct {
	client.Client
	*identity.Sites
	now time.Time
}

func newTestSites(t *testing.T, change func(*identity.Config), objects ...client.Object) *testSites {
	t.Helper()
	rows := ledger.LocalRegions{Ledger: ledger.NewMemory(nil)}
	t.Cleanup(func() { _ = rows.Close() })
	w := &testSites{Client: newReader(t, objects...), now: time.Now()}
	c := identity.Config{
		Finder: identity.Finder{Reader: w.Client, Namespace: managerNamespace}, Ledger: rows, CredentialsPeriod: time.Minute, LXDKeySecret: "lxd",
		Timeout: 5 * time.Second, Now: func() time.Time { return w.now },
	}
	if change != nil {
		change(&c)
	}
	w.Sites = identity.New(c)
	t.Cleanup(w.Sites.Close)
	return w
}

func newCluster(identityName string) *infrav1.MaasCluster {
	c := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "c1"}}
	if identityName != "" {
		c.Spec.IdentityRef = &infrav1.MaasIdentityReference{Name: identityName}
	}
	return c
}

// listZones asks the MAAS of a cluster for its zones.
func (w *testSites) listZones(t *testing.T, identityName string) (string, error) {
	t.Helper()
	site, err := w.Site(t.Context(), newCluster(identityName))
	if err != nil {
		return "", err
	}
	zones, err := site.Names.Zones(t.Context())
	return strings.Join(zones, " "), err
}

// TestTwoIdentities: clusters of two MAAS stay apart. CAPMaaS composed in the one
// and deleted in the other.
func TestTwoIdentities(t *testing.T) {
	t.Parallel()
	a, b := sim.StartServer(t, sim.Model{Zones: []string{"in-a"}}), sim.StartServer(t, sim.Model{Zones: []string{"in-b"}})
	all := &infrav1.AllowedNamespaces{}
	w := newTestSites(t, nil, newIdentity("a", a.URL, "", all), newSecret(managerNamespace, "a-key", "apiKey", a.APIKey()), newIdentity("b", b.URL, "", all),
		newSecret(managerNamespace, "b-key", "apiKey", b.APIKey()))
	for name, want := range map[string]string{"a": "default in-a", "b": "default in-b"} {
		if got, err := w.listZones(t, name); got != want || err != nil {
			t.Errorf("%s: zones %q, %v", name, got, err)
		}
	}
	one, _ := w.Site(t.Context(), newCluster("a"))
	again, _ := w.Site(t.Context(), newCluster("a"))
	if one != again {
		t.Error("the same identity has two sites")
	}
}

// TestChangedKeyIsUsed: who changes a Secret need not restart the manager.
func TestChangedKeyIsUsed(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{})
	w := newTestSites(t, nil, newSecret(managerNamespace, "maas-credentials", "apiKey", key), newEndpointConfigMap("maasEndpoint", s.URL))
	if _, err := w.listZones(t, ""); !errors.Is(err, engine.ErrForbidden) {
		t.Fatalf("MAAS takes a wrong key: %v", err)
	}
	if err := w.Update(t.Context(), newSecret(managerNamespace, "maas-credentials", "apiKey", s.APIKey())); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(6 * time.Second) // a key that MAAS refused is read again soon
	if got, err := w.listZones(t, ""); got != "default" || err != nil {
		t.Errorf("zones %q, %v", got, err)
	}
	if err := w.Update(t.Context(), newEndpointConfigMap("maasEndpoint", "http://127.0.0.1:1/MAAS")); err != nil {
		t.Fatal(err)
	}
	if got, err := w.listZones(t, ""); got != "default" || err != nil {
		t.Errorf("what is good is read anew before its time: zones %q, %v", got, err)
	}
	w.now = w.now.Add(2 * time.Minute)
	site, err := w.Site(t.Context(), newCluster(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := site.Names.Zones(t.Context()); err == nil {
		t.Error("the old address is still used")
	}
}

// TestMissingSecretIsFoundLater: a failure is believed for seconds only, and a
// Secret that is taken away is missed.
func TestMissingSecretIsFoundLater(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{})
	w := newTestSites(t, nil, newEndpointConfigMap("maasEndpoint", s.URL))
	_, err := w.listZones(t, "")
	wantFailure(t, "There is no key.", err, "CredentialsNotFound", "maas-credentials")
	if err := w.Create(t.Context(), newSecret(managerNamespace, "maas-credentials", "apiKey", s.APIKey())); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(6 * time.Second)
	if _, err := w.listZones(t, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), newSecret(managerNamespace, "maas-credentials")); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * time.Minute)
	_, err = w.listZones(t, "")
	wantFailure(t, "It was taken away.", err, "CredentialsNotFound", "maas-credentials")
}

// TestMalformedCredentials: the object that holds what cannot be meant is named.
func TestMalformedCredentials(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ endpoint, key, says string }{
		"Endpoint": {"maas.example", key, "ConfigMap capmaas-system/capmaas-config"},
		"Key":      {"http://maas.example", "secretPart", "Secret capmaas-system/maas-credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestSites(t, nil, newSecret(managerNamespace, "maas-credentials", "apiKey", tc.key), newEndpointConfigMap("maasEndpoint", tc.endpoint))
			_, err := w.listZones(t, "")
			wantFailure(t, name, err, "InvalidSpec", tc.says)
		})
	}
}

// TestTLSIsVerified: CAPMaaS trusted every certificate.
func TestTLSIsVerified(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{})
	secure := httptest.NewTLSServer(s.Sim)
	t.Cleanup(secure.Close)
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	all := &infrav1.AllowedNamespaces{}
	plain, trusting := newIdentity("plain", secure.URL+"/MAAS", "", all), newIdentity("trusting", secure.URL+"/MAAS", "", all)
	trusting.Spec.CABundle = bundle
	w := newTestSites(t, nil, plain, newSecret(managerNamespace, "plain-key", "apiKey", s.APIKey()), trusting, newSecret(managerNamespace, "trusting-key", "apiKey", s.APIKey()),
		newSecret(managerNamespace, "maas-credentials", "apiKey", s.APIKey()), newEndpointConfigMap("maasEndpoint", secure.URL, "caBundle", bundle))
	if _, err := w.listZones(t, "plain"); err == nil {
		t.Error("a certificate that nobody vouches for is believed")
	}
	if n := s.Journal().Total(); n > 0 {
		t.Errorf("%d requests were sent to who may be anybody", n)
	}
	for _, name := range []string{"trusting", ""} {
		if got, err := w.listZones(t, name); got != "default" || err != nil {
			t.Errorf("identity %q: zones %q, %v", name, got, err)
		}
	}
}

// TestFleetKey: the pair of the Secret, else the one beside the ledger.
func TestFleetKey(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{})
	objects := []client.Object{newSecret(managerNamespace, "maas-credentials", "apiKey", s.APIKey()), newEndpointConfigMap("maasEndpoint", s.URL)}
	certificate := func(w *testSites) string {
		t.Helper()
		site, err := w.Site(t.Context(), newCluster(""))
		if err != nil {
			t.Fatal(err)
		}
		return site.Credentials.Certificate
	}
	if got := certificate(newTestSites(t, nil, objects...)); got != "" {
		t.Error("without a place for it there is a pair")
	}
	folder := filepath.Join(t.TempDir(), "ledger")
	beside := func(c *identity.Config) { c.Folder = folder }
	made := newTestSites(t, beside, objects...)
	first := certificate(made)
	if first == "" || first != certificate(newTestSites(t, beside, objects...)) {
		t.Error("the pair beside the ledger is not the same for the next manager")
	}
	site, _ := made.Site(t.Context(), newCluster(""))
	pair := newSecret(managerNamespace, "lxd", "tls.crt", site.Credentials.Certificate, "tls.key", site.Credentials.Key)
	if got := certificate(newTestSites(t, nil, append(objects, pair)...)); got != first {
		t.Error("the pair of the Secret is not used")
	}
	lasting := newTestSites(t, beside, objects...)
	again := func(c *identity.Config) {
		c.Folder, c.KeyWriter, c.Finder.Reader = t.TempDir(), lasting.Client, lasting.Client
	}
	before := certificate(newTestSites(t, again))
	if before == first || before != certificate(newTestSites(t, again)) {
		t.Error("the pair does not outlive the ledger's volume")
	}
	bare := newTestSites(t, nil)
	nowhere := func(c *identity.Config) { c.KeyWriter, c.Finder.Reader = bare.Client, bare.Client }
	for _, o := range objects {
		if err := bare.Create(t.Context(), o.DeepCopyObject().(client.Object)); err != nil {
			t.Fatal(err)
		}
	}
	if made := certificate(newTestSites(t, nowhere)); made == "" || made != certificate(newTestSites(t, nowhere)) {
		t.Error("without a folder, the pair is not made into the Secret")
	}
	late := func(c *identity.Config) { again(c); c.Finder.Reader = hideSecretOnce(t, lasting.Client) }
	if got := certificate(newTestSites(t, late)); got != before {
		t.Error("the pair that another manager kept first does not count")
	}
}

// TestTenantsGetNoFleetKey: whoever brings a MAAS reads there what the manager sends to it.
func TestTenantsGetNoFleetKey(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{})
	objects := []client.Object{newSecret(team, "mine", "maasEndpoint", s.URL, "apiKey", s.APIKey())}
	w := newTestSites(t, func(c *identity.Config) { c.Folder = t.TempDir() }, objects...)
	asking := newCluster("mine")
	asking.Spec.IdentityRef.Kind = infrav1.IdentityKindSecret
	site, err := w.Site(t.Context(), asking)
	if err != nil {
		t.Fatal(err)
	}
	if site.Credentials.Key != "" || site.Credentials.Certificate != "" {
		t.Error("the MAAS of a tenant is given the key pair of the fleet")
	}
}
