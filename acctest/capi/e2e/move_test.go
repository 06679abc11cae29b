package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// fleetKeySecret is the Secret with the key pair that LXD hosts trust.
const fleetKeySecret = "maaslxd-lxd-client"

// newManagementCluster is another management cluster for the same MAAS and the
// same machines. It has what the documentation tells users to make before a
// move.
func (w *world) newManagementCluster(t *testing.T) *world {
	t.Helper()
	there := &world{
		plane: kubetest.StartForTest(t, kubetest.Options{ControllerManager: true}), maas: w.maas, site: w.site, api: w.api, url: w.url, key: w.key,
		workloads: w.workloads, secrets: w.secrets, polling: w.polling,
		releaseFolder: w.releaseFolder, managerProgram: w.managerProgram,
	}
	there.Client = newClient(t, there.plane)
	pair := &corev1.Secret{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: infrav1.DefaultNamespace, Name: fleetKeySecret}, pair); err != nil {
		t.Fatal(err)
	}
	pair.ObjectMeta = metav1.ObjectMeta{Namespace: pair.Namespace, Name: pair.Name}
	there.installProvider(t, pair)
	return there
}

// moveTo lets clusterctl move the cluster, and everything labelled to move. It
// returns the cluster in its new place once all conditions are good. In MAAS
// only the marks change, because they name the management cluster.
func (c cluster) moveTo(to *world, machines int, version string) cluster {
	c.t.Helper()
	before, marked := c.machineIdentities(), len(c.maas.Journal().Calls)
	out, err := c.clusterctl.Run(c.t.Context(), "move", "--namespace", c.name, "--to-kubeconfig", to.plane.Kubeconfig)
	if err != nil {
		c.t.Fatalf("%v\n%s\n%s", err, out, c.describe())
	}
	waitFor(c.t, c.name+": nothing is left where it was", c.polling, func(ctx context.Context) string {
		return strings.Join(slices.DeleteFunc(c.leftObjects(ctx), func(o string) bool { return strings.HasPrefix(o, "Secret "+unmovedName) }), ", ")
	}, c.describe)
	there := cluster{to, c.t, c.name}
	there.awaitRunning(machines, version)
	if diff := cmp.Diff(before, there.machineIdentities()); diff != "" {
		c.t.Errorf("the machines are others: -before +after:\n%s", diff)
	}
	for _, call := range there.writesSince(marked) {
		if isMarkCall(call) {
			continue
		}
		c.t.Errorf("the move changed MAAS: %s %v", call.Path, call.Form)
	}
	c.checkCompanions(there)
	if err := to.Delete(c.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.name, Name: movedName}}); err != nil {
		c.t.Error(err)
	}
	return there
}

// isMarkCall reports whether a call writes only the mark: the description of a
// VM, or the owner data of bare metal.
func isMarkCall(call sim.Call) bool {
	switch call.Route {
	case "PUT machines/{id}/":
		_, described := call.Form["description"]
		return described && len(call.Form) == 1
	case "POST machines/{id}/ set_owner_data":
		_, marked := call.Form["maaslxd-key"]
		return marked && len(call.Form) == 1
	}
	return false
}

// markAnnotations are the annotations that carry an object's mark through a
// move, and that it must still have after it. A VM keeps the name that the
// first management cluster gave it. The notes of started work name their key,
// so another manager starts without any.
var markAnnotations = []string{
	"infrastructure.cluster.x-k8s.io/maas-key", "infrastructure.cluster.x-k8s.io/maas-attempt", "infrastructure.cluster.x-k8s.io/maas-arrived-paused",
	"infrastructure.cluster.x-k8s.io/maas-unproven", infrav1.VMNameAnnotation,
}

// machineIdentity is what identifies a machine.
type machineIdentity struct {
	SystemID, ProviderID string
	Finalizers           []string
	Annotations          map[string]string
}

// machineIdentities are those of the cluster's machines, and of the cluster.
func (c cluster) machineIdentities() map[string]machineIdentity {
	c.t.Helper()
	found := map[string]machineIdentity{}
	for _, m := range c.listMaasMachines(c.t.Context()) {
		for _, name := range markAnnotations {
			delete(m.Annotations, name)
		}
		found[m.Name] = machineIdentity{ptr.Deref(m.Spec.SystemID, ""), ptr.Deref(m.Spec.ProviderID, ""), m.Finalizers, m.Annotations}
	}
	maas := &infrav1.MaasCluster{}
	c.getObject(c.t.Context(), c.name, maas)
	found[c.name] = machineIdentity{"", c.endpoint(), maas.Finalizers, maas.Annotations}
	return found
}

// writesSince returns the later calls that change something of the cluster.
// calls is the number of calls before.
func (c cluster) writesSince(calls int) (writes []sim.Call) {
	c.t.Helper()
	about := map[string]bool{c.name: true}
	host, _, _ := strings.Cut(c.endpoint(), ":")
	label, _, _ := strings.Cut(host, ".")
	about[host], about[label] = true, true
	for _, m := range c.listMaasMachines(c.t.Context()) {
		seen := c.findMachine(m)
		about[seen.SystemID], about[seen.Hostname] = true, true
		for _, ip := range seen.IPAddresses {
			about[ip] = true
		}
	}
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.' }
	for _, call := range c.maas.Journal().Calls[calls:] {
		words := strings.FieldsFunc(fmt.Sprint(call.Path, call.Query, call.Form), between)
		if !strings.HasPrefix(call.Route, http.MethodGet) && slices.ContainsFunc(words, func(word string) bool { return about[word] }) {
			writes = append(writes, call)
		}
	}
	return writes
}

const (
	// movedName names the Secrets and ConfigMaps with clusterctl's label, and
	// stays those without.
	movedName   = "goes"
	unmovedName = "stays"
	// moveLabel makes clusterctl move an object that belongs to no cluster.
	moveLabel = "clusterctl.cluster.x-k8s.io/move"
)

// identityName is the name of the example's identity, and identitySecret that
// of its Secret.
const (
	identityName   = "blue"
	identitySecret = "maas-blue"
)

// withIdentity makes the cluster among the objects name the example's identity.
func withIdentity(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "MaasCluster" {
			continue
		}
		if err := unstructured.SetNestedField(o.Object, identityName, "spec", "identityRef", "name"); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// readExample reads the only object of a kind from an example.
func readExample(t *testing.T, file, kind string, into client.Object) {
	t.Helper()
	all, err := kubetest.ReadManifestFiles(filepath.Join(repositoryRoot(t), "examples", "capi", file))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if at < 0 {
		t.Fatalf("%s has no %s", file, kind)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(all[at].Object, into, true); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// createCompanions makes what users make beside a cluster: the identity that it
// names, and Secrets and ConfigMaps with and without clusterctl's label.
func (c cluster) createCompanions() {
	c.t.Helper()
	blue, secret := &infrav1.MaasClusterIdentity{}, &corev1.Secret{}
	readExample(c.t, "identity.yaml", "MaasClusterIdentity", blue)
	readExample(c.t, "identity.yaml", "Secret", secret)
	blue.Spec.Endpoint = c.url
	blue.Spec.AllowedNamespaces.List = []string{c.name}
	// Only what this cluster needs: the example's limits are those of another
	// site.
	blue.Spec.Limits = infrav1.IdentityLimits{ResourcePools: []string{"default"}, Domains: []string{"example.com", "maas"}}
	secret.StringData[infrav1.CredentialsKey] = c.key
	c.createObjects(c.t, secret, blue)
	key := map[string]string{infrav1.CredentialsKey: c.key}
	for name, labels := range map[string]map[string]string{movedName: {moveLabel: ""}, unmovedName: nil} {
		c.createObjects(c.t,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: c.name + "-" + name, Labels: labels}, StringData: key},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.name, Name: name, Labels: labels}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.name, Name: name, Labels: labels}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: c.name + "-" + name, Labels: labels}},
		)
	}
}

// checkCompanions checks what the documentation says of them.
func (c cluster) checkCompanions(there cluster) {
	c.t.Helper()
	manager := infrav1.DefaultNamespace
	for what, each := range map[string]struct {
		object          client.Object
		namespace, name string
		here, there     bool
	}{
		"identity":               {&infrav1.MaasClusterIdentity{}, "", identityName, true, true},
		"identity's Secret":      {&corev1.Secret{}, manager, identitySecret, false, true},
		"manager's labelled one": {&corev1.Secret{}, manager, c.name + "-" + movedName, false, true},
		"Secret":                 {&corev1.Secret{}, c.name, movedName, false, true},
		"ConfigMap":              {&corev1.ConfigMap{}, c.name, movedName, false, true},
		"unlabelled Secret":      {&corev1.Secret{}, c.name, unmovedName, true, false},
		"unlabelled ConfigMap":   {&corev1.ConfigMap{}, c.name, unmovedName, true, false},
		"manager's Secret":       {&corev1.Secret{}, manager, c.name + "-" + unmovedName, true, false},
		"manager's ConfigMap":    {&corev1.ConfigMap{}, manager, c.name + "-" + movedName, true, false},
		"manager's credentials":  {&corev1.Secret{}, manager, infrav1.CredentialsSecret, true, true},
		"fleet's key":            {&corev1.Secret{}, manager, fleetKeySecret, true, true},
	} {
		key := client.ObjectKey{Namespace: each.namespace, Name: each.name}
		for where, found := range map[*world]bool{c.world: each.here, there.world: each.there} {
			err := where.Get(c.t.Context(), key, each.object)
			if client.IgnoreNotFound(err) != nil {
				c.t.Fatal(err)
			}
			if apierrors.IsNotFound(err) == found {
				c.t.Errorf("the %s %s is there after the move: %v, want %v, in the management cluster %s", what, key, !found, found, where.plane.Config.Host)
			}
		}
	}
}
