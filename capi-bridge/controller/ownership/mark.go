package ownership

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// Mark names the object that a machine was made for: the management cluster, by
// the UID of its namespace kube-system, and the object's names. Unlike an
// object's UID, these survive a restore from a backup and a move.
type Mark struct{ Management, namespace, cluster, name string }

// key returns the mark as a machine carries it:
// "<UID>/<namespace>/<cluster>/<name>".
func (o Mark) key() engine.Key {
	return engine.Key(strings.Join([]string{o.Management, o.namespace, o.cluster, o.name}, "/"))
}

// ObjectKey is the name of the object that the machine was made for.
func (o Mark) ObjectKey() client.ObjectKey {
	return client.ObjectKey{Namespace: o.namespace, Name: o.name}
}

// ParseMark reads a key of that form. It returns false for the keys of former
// versions, which are UIDs of Machines.
func ParseMark(key string) (Mark, bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return Mark{}, false
	}
	return Mark{parts[0], parts[1], parts[2], parts[3]}, true
}

// MarkOf returns the mark of an object in this management cluster.
func MarkOf(management string, m *infrav1.MaasMachine) Mark {
	return Mark{management, m.Namespace, m.Labels[clusterv1.ClusterNameLabel], m.Name}
}
