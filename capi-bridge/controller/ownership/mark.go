package ownership

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// Mark is whom a machine was made for: the management cluster, by the UID of
// its namespace kube-system, and the names of the object. Unlike an object's UID
// they stay when it is restored from a backup, or moved.
type Mark struct{ Management, namespace, cluster, name string }

// key is the ownership as the mark of a machine: "<UID>/<namespace>/<cluster>/<name>".
func (o Mark) key() engine.Key {
	return engine.Key(strings.Join([]string{o.Management, o.namespace, o.cluster, o.name}, "/"))
}

// ObjectKey is the name of the object that the machine was made for.
func (o Mark) ObjectKey() client.ObjectKey {
	return client.ObjectKey{Namespace: o.namespace, Name: o.name}
}

// ParseMark reads a key of that form. Former versions took the UID of the
// Machine, which says none of it.
func ParseMark(key string) (Mark, bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return Mark{}, false
	}
	return Mark{parts[0], parts[1], parts[2], parts[3]}, true
}

// MarkOf is that of an object in this management cluster.
func MarkOf(management string, m *infrav1.MaasMachine) Mark {
	return Mark{management, m.Namespace, m.Labels[clusterv1.ClusterNameLabel], m.Name}
}
