package webhook

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestGuardedAnnotations: what says which machine is an object's is the manager's to write.
// clusterctl and backups bring it along with paused objects.
func TestGuardedAnnotations(t *testing.T) {
	t.Parallel()
	const (
		manager   = "system:serviceaccount:capmaas-system:capmaas-manager"
		plain     = "metadata: {name: m, namespace: team, labels: {cluster.x-k8s.io/cluster-name: c}}\nspec: {image: a}"
		key       = "metadata: {name: m, namespace: team, labels: {cluster.x-k8s.io/cluster-name: c}, annotations: {infrastructure.cluster.x-k8s.io/maas-key: x}}\nspec: {image: a}"
		held      = "metadata: {name: m, namespace: team, labels: {cluster.x-k8s.io/cluster-name: c}, finalizers: [maasmachine.infrastructure.cluster.x-k8s.io]}\nspec: {image: a}"
		asks      = "metadata: {name: m, namespace: team, annotations: {infrastructure.cluster.x-k8s.io/maas-take-over: 'true'}}\nspec: {image: a}"
		going     = "metadata: {name: m, namespace: team, deletionTimestamp: '2026-01-02T03:04:05Z', annotations: {infrastructure.cluster.x-k8s.io/maas-key: y}}\nspec: {image: a}"
		meta      = "metadata: {name: m, namespace: team, labels: {cluster.x-k8s.io/cluster-name: c}, finalizers: [maasmachine.infrastructure.cluster.x-k8s.io]"
		finalizer = ", finalizers: [maasmachine.infrastructure.cluster.x-k8s.io]"
		itself    = meta + ", annotations: {cluster.x-k8s.io/paused: ''}}\nspec: {image: a}"
		unnamed   = "}\nspec: {image: a}"
		names     = "}\nspec: {image: a, systemID: abc123, providerID: 'maas:///az1/abc123'}"
		incomer   = meta + names
		ours      = meta + ", annotations: {infrastructure.cluster.x-k8s.io/maas-key: other-uid/team/c/m}" + names
		anothers  = meta + ", annotations: {infrastructure.cluster.x-k8s.io/maas-key: other-uid/team/c/x}" + names
		pending   = meta + ", annotations: {infrastructure.cluster.x-k8s.io/maas-key: other-uid/team/c/m, infrastructure.cluster.x-k8s.io/maas-inherited: pending}" + names
		refusal   = meta + ", annotations: {infrastructure.cluster.x-k8s.io/maas-inherited: none}" + names
		left      = "metadata: {name: m, namespace: team, labels: {cluster.x-k8s.io/cluster-name: c}, annotations: {clusterctl.cluster.x-k8s.io/delete-for-move: ''}"
		ofKey     = "metadata.annotations[infrastructure.cluster.x-k8s.io/maas-key]"
	)
	cases := map[string]struct {
		reason        string
		user          string
		paused        bool
		before, after string // no before: it is new
		want          []string
	}{
		"Plain":         {"Most objects.", "tenant", false, "", plain, nil},
		"Manager":       {"It writes them.", manager, false, plain, key, nil},
		"Copied":        {"A copy would have the original's machine.", "tenant", false, "", key, []string{ofKey}},
		"Moved":         {"clusterctl makes objects of a paused Cluster.", "clusterctl", true, "", key, nil},
		"Set":           {"Later, too.", "tenant", false, plain, key, []string{ofKey}},
		"SetPaused":     {"To pause first does not help.", "tenant", true, plain, key, []string{ofKey}},
		"TakenOff":      {"The machine would be forgotten.", "tenant", false, key, plain, []string{ofKey}},
		"SetAsItGoes":   {"Its deletion would release the other machine.", "tenant", false, key, going, []string{ofKey}},
		"Finalizer":     {"It says that another provider made the machine.", "tenant", false, "", held, []string{"metadata.finalizers[0]"}},
		"FinalizerOn":   {"The same, as it is put on later.", "tenant", false, plain, held, []string{"metadata.finalizers[0]"}},
		"FinalizerOff":  {"An administrator may.", "tenant", false, held, plain, nil},
		"PausedItself":  {"clusterctl pauses Clusters, and who makes an object may write that into it.", "tenant", false, "", itself, []string{"metadata.finalizers[0]"}},
		"NamedLate":     {"The manager makes a machine for it already.", "tenant", false, ours[:len(ours)-len(names)] + unnamed, ours, []string{"spec.providerID", "spec.systemID"}},
		"NamedBefore":   {"Nothing is made for it yet.", "tenant", false, plain, meta[:len(meta)-len(finalizer)] + names, nil},
		"FinalizerMove": {"clusterctl brings finalizers along.", "clusterctl", true, "", held, nil},
		"Names":         {"A tenant would have any machine without a mark.", "tenant", true, "", incomer, []string{"spec.systemID"}},
		"NamesAllowed":  {"The administrator lets another provider's clusters come.", "allowed", true, "", incomer, nil},
		"MovedMachine":  {"Its machine says whose it is.", "clusterctl", true, "", ours, nil},
		"MovedCopy":     {"Its key is another object's.", "tenant", true, "", anothers, []string{"spec.systemID"}},
		"MovedPending":  {"It was not taken over yet.", "tenant", true, "", pending, []string{"spec.systemID"}},
		"MovedRefused":  {"It was given no machine, and is given none.", "clusterctl", true, "", refusal, nil},
		"MovedAway":     {"clusterctl puts its annotation in the place of all, and then deletes.", "clusterctl", true, key, left + unnamed, nil},
		"LeftAlone":     {"Objects are not moved while their Cluster is not paused.", "tenant", false, key, left + unnamed, []string{ofKey}},
		"ComesBack":     {"It was to be deleted.", "tenant", true, left + unnamed, plain, []string{"metadata.annotations[clusterctl.cluster.x-k8s.io/delete-for-move]"}},
		"NamedAway":     {"Its key went with the other annotations.", "tenant", true, left + unnamed, left + names, []string{"spec.providerID", "spec.systemID"}},
		"TakeOver":      {"It is the user's to ask, and the identity's to allow.", "tenant", false, "", asks, nil},
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(tc.paused)}}
			cluster.Spec.InfrastructureRef.Name = "infra"
			infra := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "infra"}}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, infra).Build()
			takeOver := func(context.Context, *infrav1.MaasCluster) (bool, error) { return tc.user == "allowed", nil }
			rules := guardedValidator[*infrav1.MaasMachine]{MachineValidator(), Guard{Reader: api, ManagerUser: manager, IdentityAllowsTakeOver: takeOver}, "MaasMachine"}
			ctx := withUser(t.Context(), tc.user)
			var err error
			if tc.before == "" {
				_, err = rules.ValidateCreate(ctx, parseObject[infrav1.MaasMachine](t, tc.after))
			} else {
				_, err = rules.ValidateUpdate(ctx, parseObject[infrav1.MaasMachine](t, tc.before), parseObject[infrav1.MaasMachine](t, tc.after))
			}
			if diff := cmp.Diff(tc.want, refusedFields(t, err)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s\n%v", tc.reason, diff, err)
			}
		})
	}
}

func withUser(ctx context.Context, name string) context.Context {
	return admission.NewContextWithRequest(ctx, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UserInfo: authenticationv1.UserInfo{Username: name}}})
}

// TestTemplatesBearNoMarks: each machine of a template would be the same one.
func TestTemplatesBearNoMarks(t *testing.T) {
	t.Parallel()
	testCreations(t, MachineTemplateValidator(), map[string]createCase{
		"Key": {reason: "It is of one machine.", text: "spec: {template: {metadata: {annotations: {infrastructure.cluster.x-k8s.io/maas-key: x}}, spec: {image: a}}}",
			want: []string{"spec.template.metadata.annotations[infrastructure.cluster.x-k8s.io/maas-key]"}},
	})
	testCreations(t, ClusterTemplateValidator(), map[string]createCase{
		"Name": {reason: "It is of one cluster.", text: "spec: {template: {metadata: {annotations: {infrastructure.cluster.x-k8s.io/maas-dns-name: x}}, spec: {dnsDomain: maas}}}",
			want: []string{"spec.template.metadata.annotations[infrastructure.cluster.x-k8s.io/maas-dns-name]"}},
	})
}
