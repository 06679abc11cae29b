package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// createCase is a new object, and what is said to it.
type createCase struct {
	reason   string
	text     string
	want     []string // fields
	warnings int
}

func testCreations[T any, P interface {
	*T
	client.Object
}](t *testing.T, rules admission.Validator[P], cases map[string]createCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			warnings, err := rules.ValidateCreate(t.Context(), parseObject[T](t, tc.text))
			if diff := cmp.Diff(tc.want, refusedFields(t, err)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s\n%v", tc.reason, diff, err)
			}
			if len(warnings) != tc.warnings {
				t.Errorf("%s\nwarnings %q, want %d", tc.reason, warnings, tc.warnings)
			}
			if _, err := rules.ValidateDelete(t.Context(), parseObject[T](t, tc.text)); err != nil {
				t.Errorf("it cannot be deleted: %v", err)
			}
		})
	}
}

func TestNewMachines(t *testing.T) {
	t.Parallel()
	const lxd = "spec: {image: a, minCPU: 2, minMemory: 2048, provisioningMode: lxd"
	testCreations(t, MachineValidator(), map[string]createCase{
		"BareMetal":     {reason: "The least that can be said.", text: "spec: {image: a}"},
		"LXD":           {reason: "A VM.", text: lxd + "}"},
		"Adopted":       {reason: "clusterctl move brings machines along.", text: lxd + ", systemID: abc123, providerID: 'maas:///az1/abc123'}"},
		"Contradiction": {reason: "Two modes.", text: lxd + ", dynamicLXD: false}", want: []string{"spec.dynamicLXD"}},
		"BadProviderID": {reason: "Nobody would find a Node by it.", text: lxd + ", providerID: abc123}", want: []string{"spec.providerID"}},
		"BadVMName":     {reason: "LXD refuses a dot.", text: "metadata: {annotations: {maas.spectrocloud.com/vm-name: a.b}}\n" + lxd + "}", want: []string{"metadata.annotations[maas.spectrocloud.com/vm-name]"}},
		"Gateway":       {reason: "CAPMaaS took both and used neither: what is made of a template of its must come through.", text: lxd + ", staticIP: {ip: 10.0.0.5, cidr: 10.0.0.0/24, gateway: 10.0.0.1, nameservers: [10.0.0.2]}}", warnings: 2},
		"LinkUp":        {reason: "The machine could never be made.", text: lxd + ", lxdConfig: {network: {interfaces: [{name: eth0, mode: link_up}]}}}", want: []string{"spec.lxdConfig.network"}},
		"AutoStart":     {reason: "It was allowed, and had no effect.", text: lxd + ", lxd: {vmConfig: {autoStart: false}}}", warnings: 1},
	})
}

func TestNewMachineTemplates(t *testing.T) {
	t.Parallel()
	const lxd = "spec: {template: {spec: {image: a, minCPU: 2, minMemory: 2048, provisioningMode: lxd"
	testCreations(t, MachineTemplateValidator(), map[string]createCase{
		"LXD":        {reason: "VMs.", text: lxd + "}}}"},
		"BadSize":    {reason: "The path is that of the template.", text: "spec: {template: {spec: {image: a, dynamicLXD: true, minMemory: 2048}}}", want: []string{"spec.template.spec.minCPU"}},
		"ProviderID": {reason: "It is of one machine.", text: lxd + ", providerID: 'maas-lxd://az1/abc123'}}}", want: []string{"spec.template.spec.providerID"}},
		"SystemID":   {reason: "It is of one machine.", text: lxd + ", systemID: abc123}}}", want: []string{"spec.template.spec.systemID"}},
		"StaticIP":   {reason: "Good for one replica, if it is deleted first.", text: lxd + ", staticIP: 10.0.0.5}}}", warnings: 1},
		"BadLabel":   {reason: "Machines could not get it.", text: "spec: {template: {metadata: {labels: {a: 'b c'}}, spec: {image: a}}}", want: []string{"spec.template.metadata.labels"}},
	})
}

func TestNewClusters(t *testing.T) {
	t.Parallel()
	testCreations(t, ClusterValidator(), map[string]createCase{
		"Least":        {reason: "The least that can be said.", text: "spec: {dnsDomain: maas}"},
		"Most":         {reason: "All of it.", text: "spec: {dnsDomain: k8s.example, controlPlaneEndpoint: {host: 10.0.0.5, port: 443}, failureDomains: [az1, az2], preferredSubnets: [10.0.0.0/24, public], identityRef: {name: blue}, lxdConfig: {enabled: true}}"},
		"BadDomain":    {reason: "No DNS name.", text: "spec: {dnsDomain: 'a b'}", want: []string{"spec.dnsDomain"}},
		"URLAsHost":    {reason: "Only the host belongs there.", text: "spec: {dnsDomain: maas, controlPlaneEndpoint: {host: 'https://c.maas:6443'}}", want: []string{"spec.controlPlaneEndpoint.host"}},
		"ZoneTwice":    {reason: "A slip of the pen.", text: "spec: {dnsDomain: maas, failureDomains: [az1, az1]}", want: []string{"spec.failureDomains[1]"}},
		"BadSubnet":    {reason: "A slash makes it a CIDR.", text: "spec: {dnsDomain: maas, preferredSubnets: [10.0.0.0/33]}", want: []string{"spec.preferredSubnets[0]"}},
		"BadIdentity":  {reason: "No object has such a name.", text: "spec: {dnsDomain: maas, identityRef: {name: 'A B'}}", want: []string{"spec.identityRef.name"}},
		"HostsOrNot":   {reason: "Yes and no.", text: "spec: {dnsDomain: maas, lxdControlPlaneCluster: false, lxdConfig: {enabled: true}}", want: []string{"spec.lxdControlPlaneCluster"}},
		"BadPoolSize":  {reason: "No size.", text: "spec: {dnsDomain: maas, lxdControlPlaneCluster: true, lxdConfig: {storageSize: much}}", want: []string{"spec.lxdConfig.storageSize"}},
		"IPv6Endpoint": {reason: "MAAS has IPv6, too.", text: "spec: {dnsDomain: maas, controlPlaneEndpoint: {host: 'fd00::5', port: 443}}"},
	})
}

func TestNewClusterTemplates(t *testing.T) {
	t.Parallel()
	testCreations(t, ClusterTemplateValidator(), map[string]createCase{
		"Least":     {reason: "The least that can be said.", text: "spec: {template: {spec: {dnsDomain: maas}}}"},
		"BadDomain": {reason: "The path is that of the template.", text: "spec: {template: {spec: {dnsDomain: ''}}}", want: []string{"spec.template.spec.dnsDomain"}},
		"BadLabel":  {reason: "Clusters could not get it.", text: "spec: {template: {metadata: {labels: {a: 'b c'}}, spec: {dnsDomain: maas}}}", want: []string{"spec.template.metadata.labels"}},
	})
}

func TestNewIdentities(t *testing.T) {
	t.Parallel()
	certificate, key := newTestCertificate(t)
	with := func(endpoint, ca, allowed string) string {
		return "spec:\n  endpoint: " + endpoint + "\n  secretRef: {name: maas}\n  allowedNamespaces: " + allowed +
			"\n  caBundle: |\n    " + strings.ReplaceAll(strings.TrimSpace(ca), "\n", "\n    ") + "\n"
	}
	const link = "https://maas.example:5443/MAAS"
	testCreations(t, IdentityValidator(), map[string]createCase{
		"All":         {reason: "As it should be.", text: with(link, certificate, "{}")},
		"NoCA":        {reason: "A certificate that the system trusts.", text: with(link, "", "{list: [a], selector: {matchLabels: {b: c}}}")},
		"HTTP":        {reason: "It works, and can be read on its way.", text: with("http://10.0.0.2:5240/MAAS", "", "{}"), warnings: 1},
		"Nobody":      {reason: "Nobody may use it, which is seldom meant.", text: "spec: {endpoint: '" + link + "', secretRef: {name: maas}}", warnings: 1},
		"NoURL":       {reason: "A host alone is no URL.", text: with("maas.example", "", "{}"), want: []string{"spec.endpoint"}},
		"OtherScheme": {reason: "MAAS speaks HTTP.", text: with("ftp://maas.example", "", "{}"), want: []string{"spec.endpoint"}},
		"Password":    {reason: "Secrets belong into the Secret.", text: with("https://me:secret@maas.example/MAAS", "", "{}"), want: []string{"spec.endpoint"}},
		"Query":       {reason: "Paths are put behind it.", text: with("https://maas.example/MAAS?op=x", "", "{}"), want: []string{"spec.endpoint"}},
		"Key":         {reason: "A private key does not belong there.", text: with(link, key, "{}"), want: []string{"spec.caBundle"}},
		"BothInOne":   {reason: "Nor behind a certificate.", text: with(link, certificate+key, "{}"), want: []string{"spec.caBundle"}},
		"NoPEM":       {reason: "No certificate.", text: with(link, "certificate", "{}"), want: []string{"spec.caBundle"}},
		"BadSecret":   {reason: "No object has such a name.", text: "spec: {endpoint: '" + link + "', secretRef: {name: 'A B'}, allowedNamespaces: {}}", want: []string{"spec.secretRef.name"}},
		"Star":        {reason: "All are allowed in another way.", text: with(link, "", "{list: ['*']}"), want: []string{"spec.allowedNamespaces.list[0]"}},
		"BadSelector": {reason: "It would fit nothing.", text: with(link, "", "{selector: {matchExpressions: [{key: a, operator: Like}]}}"), want: []string{"spec.allowedNamespaces.selector"}},
	})
}

// TestRefusalsShowNoSecret: what stands in an endpoint or a bundle by mistake
// must not be told on.
func TestRefusalsShowNoSecret(t *testing.T) {
	t.Parallel()
	_, key := newTestCertificate(t)
	identity := &infrav1.MaasClusterIdentity{Spec: infrav1.MaasClusterIdentitySpec{
		Endpoint: "https://me:hunter2@maas.example/MAAS", CABundle: key, SecretRef: infrav1.SecretReference{Name: "maas"},
	}}
	_, err := IdentityValidator().ValidateCreate(t.Context(), identity)
	if err == nil {
		t.Fatal("it was taken")
	}
	body := strings.Split(key, "\n")[1]
	if text := err.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, body) {
		t.Errorf("the refusal tells a secret: %s", text)
	}
}

// newTestCertificate is a certificate and its key, PEM.
func newTestCertificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
