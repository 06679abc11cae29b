package manager_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
)

// testOptions are those that the managers of the tests have in common: they look often,
// for a simulated MAAS is fast. They elect a leader as they are shipped to.
func testOptions(ledger string) manager.Options {
	return manager.Options{
		Version: "test", MachineConcurrency: 20, ClusterConcurrency: 5,
		ClusterCacheConcurrency: 2, ClusterCacheQPS: 20, ClusterCacheBurst: 30,
		LeaderElect: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		SyncPeriod: time.Minute, HealthAddr: "0", Metrics: server.Options{BindAddress: "0"},
		Ledger: ledger, Composer: "auto", LXDKeySecret: keySecret,
		MAASTimeout: time.Minute, MAASPollInterval: 200 * time.Millisecond, MAASConnections: 14, CredentialsPeriod: 2 * time.Second, NamesRepeat: true,
	}
}

// installKinds installs the kinds of Cluster API, and ours.
func installKinds(ctx context.Context, c *kubetest.ControlPlane) error {
	files, err := filepath.Glob("../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no kinds of ours: %w", err)
	}
	kinds, err := kubetest.ReadManifestFiles(files...)
	if err != nil {
		return err
	}
	_, err = c.InstallCRDs(ctx, kinds...)
	return errors.Join(err, c.InstallCAPIKinds(ctx))
}

// grantRights are those that a manager is shipped with, which runs in the namespace own:
// in all namespaces or, if it is scoped, in its own and in that one.
func (s *stage) grantRights(ctx context.Context, own, scope string) (*rest.Config, error) {
	roles, err := kubetest.ReadManifestFiles("../config/rbac/role.yaml", "../config/rbac/key.yaml", "../config/rbac/leader_election.yaml")
	if err != nil {
		return nil, err
	}
	roles = slices.DeleteFunc(roles, func(o *unstructured.Unstructured) bool { return o.GetKind() == "RoleBinding" })
	for _, r := range roles {
		if r.GetKind() == "Role" {
			r.SetNamespace(own)
		}
	}
	if err := s.plane.Apply(ctx, roles...); err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{Namespace: own, Name: "manager"}
	who := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: own, Name: "manager"}}
	role := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	everywhere := func(name string) client.Object {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: own + "-" + name}, Subjects: who, RoleRef: role("ClusterRole", name)}
	}
	in := func(namespace string) client.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: own + "-manager"}, Subjects: who, RoleRef: role("ClusterRole", "manager-role")}
	}
	at := func(name string) client.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: name}, Subjects: who, RoleRef: role("Role", name)}
	}
	all := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta}, everywhere("manager-cluster-role"), at("key-role"), at("leader-election-role"),
	}
	if scope == "" {
		all = append(all, everywhere("manager-role"))
	} else {
		all = append(all, in(own), in(scope))
	}
	for _, o := range all {
		if err := s.Create(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := s.awaitRights(ctx, own, scope); err != nil {
		return nil, err
	}
	return s.plane.ServiceAccountConfig(ctx, own, "manager")
}

// awaitRights waits until the API server knows the bindings. It learns of them a moment
// after they were made, and would refuse a manager that begins at once.
func (s *stage) awaitRights(ctx context.Context, own, scope string) error {
	machines := func(namespace string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "watch", Group: infrav1.GroupVersion.Group, Resource: "maasmachines"}
	}
	asks := []authorizationv1.ResourceAttributes{ // one for each binding
		{Verb: "get", Resource: "namespaces"},
		{Namespace: own, Verb: "create", Resource: "secrets"},
		{Namespace: own, Verb: "update", Group: coordinationv1.GroupName, Resource: "leases"},
		machines(scope),
	}
	if scope != "" {
		asks = append(asks, machines(own))
	}
	for _, ask := range asks {
		for {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + own + ":manager", ResourceAttributes: &ask,
			}}
			if err := s.Create(ctx, review); err != nil {
				return err
			}
			if review.Status.Allowed {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the manager of %s may not %s %s: %w", own, ask.Verb, ask.Resource, ctx.Err())
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}
