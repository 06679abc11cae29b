package kubetest

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestKubeServiceAccountHasItsRightsOnly: a client with a service account's
// token may do what RBAC allows, and nothing else.
func TestKubeServiceAccountHasItsRightsOnly(t *testing.T) {
	t.Parallel()
	c := StartForTest(t, Options{})
	createObjects(t, c,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "reader"}},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}},
	)
	config, err := c.ServiceAccountConfig(t.Context(), "default", "reader")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it may read what the role allows", func() bool { // after the API server has seen the binding
		return reader.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "one"}, &corev1.Secret{}) == nil
	})
	if err := reader.List(t.Context(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Errorf("listed secrets without a right to: %v", err)
	}
	if _, err := c.ServiceAccountConfig(t.Context(), "default", "nobody"); !apierrors.IsNotFound(err) {
		t.Errorf("a token for an account that is not there: %v", err)
	}
}

// TestKubeControllerManagerCleansUp: with a controller manager, namespaces end
// and objects are deleted with their owner.
func TestKubeControllerManagerCleansUp(t *testing.T) {
	t.Parallel()
	c := StartForTest(t, Options{ControllerManager: true})
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner"}}
	createObjects(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}, owner)
	createObjects(t, c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}})
	for _, object := range []client.Object{owner, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}} {
		if err := c.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the owned secret goes", func() bool {
		return apierrors.IsNotFound(c.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "owned"}, &corev1.Secret{}))
	})
	waitFor(t, "the namespace goes", func() bool {
		return apierrors.IsNotFound(c.Client.Get(t.Context(), client.ObjectKey{Name: "short"}, &corev1.Namespace{}))
	})
}

// TestKubeNothingOutlivesAKilledTest: etcd, the API server and the controller
// manager end with the process that started them, also when it is killed.
func TestKubeNothingOutlivesAKilledTest(t *testing.T) {
	t.Parallel()
	StartForTest(t, Options{}) // it skips the test where there is no Kubernetes
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), stageVariable+"=victim", "KUBETEST_DIR="+t.TempDir())
	victim.Stderr = t.Output()
	killWithParent(victim)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readPIDs(t, bufio.NewScanner(out))
	if len(pids) != 3 {
		t.Errorf("started %d processes, want etcd, an API server and a controller manager", len(pids))
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed, so this returns an error
	for _, pid := range pids {
		waitFor(t, "process "+strconv.Itoa(pid)+" ends", func() bool {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
		})
	}
}

// readPIDs reads numbers until a 0.
func readPIDs(t *testing.T, lines *bufio.Scanner) (pids []int) {
	t.Helper()
	for lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		if pid == 0 {
			return pids
		}
		pids = append(pids, pid)
	}
	t.Fatal("the control plane did not start")
	return nil
}

func createObjects(t *testing.T, c *ControlPlane, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// waitFor waits up to a minute for something that takes a moment.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(readyPollInterval) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute: %s", what)
		}
	}
}
