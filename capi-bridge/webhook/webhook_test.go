package webhook

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// parseObject is an object as YAML has it.
func parseObject[T any](t *testing.T, text string) *T {
	t.Helper()
	var obj T
	if err := yaml.UnmarshalStrict([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return &obj
}

// refusedFields are the fields that an answer names, nil where it is none.
func refusedFields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		t.Fatalf("%v is no refusal of a value", err)
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	return fields
}

// updateCase is what becomes of an object, and what is said to it.
type updateCase struct {
	reason        string
	before, after string
	want          []string // fields
}

func testUpdates[T any, P interface {
	*T
	client.Object
}](t *testing.T, rules admission.Validator[P], cases map[string]updateCase) {
	t.Helper()
	ctx := admission.NewContextWithRequest(t.Context(), admission.Request{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rules.ValidateUpdate(ctx, parseObject[T](t, tc.before), parseObject[T](t, tc.after))
			if diff := cmp.Diff(tc.want, refusedFields(t, err)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s\n%v", tc.reason, diff, err)
			}
		})
	}
}

func TestUpdatesOfMachines(t *testing.T) {
	t.Parallel()
	const have = "spec: {image: a, minCPU: 2, minMemory: 2048, provisioningMode: lxd"
	const known = have + ", systemID: abc123, providerID: 'maas-lxd://az1/abc123'"
	testUpdates(t, MachineValidator(), map[string]updateCase{
		"Nothing":           {"To take a finalizer away must always work.", "spec: {image: ''}", "metadata: {name: m}\nspec: {image: ''}", nil},
		"Known":             {"The machine is found.", have + "}", known + "}", nil},
		"ProviderIDTwice":   {"The Node is known by it.", known + "}", have + ", systemID: abc123, providerID: 'maas-lxd://az2/abc123'}", []string{"spec.providerID"}},
		"ProviderIDGone":    {"The Node is known by it.", known + "}", have + ", systemID: abc123}", []string{"spec.providerID"}},
		"SystemIDTwice":     {"The machine is known by it.", have + ", systemID: abc123}", have + ", systemID: abc124}", []string{"spec.systemID"}},
		"Image":             {"A machine is installed once.", have + "}", "spec: {image: b, minCPU: 2, minMemory: 2048, provisioningMode: lxd}", []string{"spec.image"}},
		"Two":               {"Each change is named.", have + "}", "spec: {image: a, minCPU: 4, minMemory: 4096, provisioningMode: lxd}", []string{"spec.minCPU", "spec.minMemory"}},
		"Mode":              {"A VM does not become bare metal.", have + "}", "spec: {image: a, minCPU: 2, minMemory: 2048}", []string{"spec.provisioningMode"}},
		"ZoneSet":           {"It was not known before.", have + "}", have + ", failureDomain: az1}", nil},
		"ZoneChanged":       {"A machine stays where it is.", have + ", failureDomain: az1}", have + ", failureDomain: az2}", []string{"spec.failureDomain"}},
		"StaticIPFilled":    {"Somebody who hands out addresses fills it in.", have + ", staticIP: {cidr: 10.0.0.0/24}}", have + ", staticIP: {ip: 10.0.0.5, cidr: 10.0.0.0/24}}", nil},
		"StaticIPBad":       {"What is filled in must be an address.", have + ", staticIP: {cidr: 10.0.0.0/24}}", have + ", staticIP: {ip: ten, cidr: 10.0.0.0/24}}", []string{"spec.staticIP.ip"}},
		"StaticIPChanged":   {"The machine has its address.", known + ", staticIP: 10.0.0.5}", known + ", staticIP: 10.0.0.6}", []string{"spec.staticIP"}},
		"Older":             {"What older versions allowed does not stop what is new.", have + ", staticIP: {ip: 10.0.0.5, gateway: 10.0.0.1}}", known + ", staticIP: {ip: 10.0.0.5, gateway: 10.0.0.1}}", nil},
		"BadProviderID":     {"Nobody would find a Node by it.", have + "}", have + ", providerID: 'aws:///a/b'}", []string{"spec.providerID"}},
		"OtherProviderID":   {"Two machines in one.", have + "}", have + ", systemID: xyz999, providerID: 'maas-lxd://az1/abc123'}", []string{"spec.systemID"}},
		"Deleting":          {"What is being deleted is let go.", have + "}", "metadata: {deletionTimestamp: '2026-01-02T03:04:05Z'}\nspec: {image: b}", nil},
		"FormOfStaticIPNow": {"The other form is another text.", known + ", staticIP: 10.0.0.5}", known + ", staticIP: {ip: 10.0.0.5}}", []string{"spec.staticIP"}},
	})
}

func TestUpdatesOfClusters(t *testing.T) {
	t.Parallel()
	const have = "spec: {dnsDomain: maas"
	const known = have + ", controlPlaneEndpoint: {host: c.maas, port: 6443}"
	testUpdates(t, ClusterValidator(), map[string]updateCase{
		"Endpoint":        {"It was not known before.", have + "}", known + "}", nil},
		"EndpointHost":    {"The host comes with the port.", have + ", controlPlaneEndpoint: {port: 443}}", have + ", controlPlaneEndpoint: {host: c.maas, port: 443}}", nil},
		"EndpointChanged": {"Machines know the API by it.", known + "}", have + ", controlPlaneEndpoint: {host: d.maas, port: 6443}}", []string{"spec.controlPlaneEndpoint"}},
		"EndpointGone":    {"Machines know the API by it.", known + "}", have + "}", []string{"spec.controlPlaneEndpoint"}},
		"Domain":          {"Machines know the API by it.", have + "}", "spec: {dnsDomain: other}", []string{"spec.dnsDomain"}},
		"Zones":           {"Machines to be may be elsewhere.", have + "}", have + ", failureDomains: [az1]}", nil},
		"Identity":        {"The machines are in the other MAAS.", have + ", identityRef: {name: a}}", have + ", identityRef: {name: b}}", []string{"spec.identityRef"}},
		"IdentityGiven":   {"The machines are in the other MAAS.", have + "}", have + ", identityRef: {name: b}}", []string{"spec.identityRef"}},
		"Hosts":           {"Machines to be become hosts.", have + "}", have + ", lxdControlPlaneCluster: true}", nil},
	})
}

func TestTemplatesStay(t *testing.T) {
	t.Parallel()
	before := parseObject[infrav1.MaasMachineTemplate](t, "spec: {template: {spec: {image: a}}}")
	after := parseObject[infrav1.MaasMachineTemplate](t, "spec: {template: {spec: {image: b}}}")
	marked := after.DeepCopy()
	marked.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	yes := true
	dry := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: &yes}}
	cases := map[string]struct {
		reason  string
		request admission.Request
		after   *infrav1.MaasMachineTemplate
		want    []string
	}{
		"Change":       {"Machines were made of it.", admission.Request{}, after, []string{"spec"}},
		"DryRun":       {"A dry run of a person's is told what would come.", dry, after, []string{"spec"}},
		"MarkedChange": {"The mark alone is no dry run.", admission.Request{}, marked, []string{"spec"}},
		"TopologyAsks": {"Cluster API finds out whether it needs another template.", dry, marked, nil},
		"Same":         {"Nothing changed.", admission.Request{}, before, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := admission.NewContextWithRequest(t.Context(), tc.request)
			_, err := MachineTemplateValidator().ValidateUpdate(ctx, before, tc.after)
			if diff := cmp.Diff(tc.want, refusedFields(t, err)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	ctx := admission.NewContextWithRequest(t.Context(), admission.Request{})
	_, err := ClusterTemplateValidator().ValidateUpdate(ctx,
		parseObject[infrav1.MaasClusterTemplate](t, "spec: {template: {spec: {dnsDomain: a}}}"), parseObject[infrav1.MaasClusterTemplate](t, "spec: {template: {spec: {dnsDomain: b}}}"))
	if diff := cmp.Diff([]string{"spec"}, refusedFields(t, err)); diff != "" {
		t.Errorf("a MaasClusterTemplate changes: -want +got:\n%s", diff)
	}
	if _, err := MachineTemplateValidator().ValidateUpdate(t.Context(), before, after); err == nil || apierrors.IsInvalid(err) {
		t.Errorf("without a request: %v, want an error that refuses no value", err)
	}
}
