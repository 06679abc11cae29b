package ownership

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// SystemIDIndex is the index by which MaasMachines are found from their
// machine.
const SystemIDIndex = "systemID"

// IndexSystemID returns the index value of a MaasMachine: the machine that it
// names.
func IndexSystemID(o client.Object) []string {
	m, ok := o.(*infrav1.MaasMachine)
	if !ok {
		return nil
	}
	if id := SystemIDOf(m); id != "" {
		return []string{id}
	}
	return nil
}

// findRival finds another object, in any namespace, that names the same machine
// and has the better right to it; nil: there is none.
func (s Check) findRival(ctx context.Context, m *infrav1.MaasMachine) (*infrav1.MaasMachine, error) {
	id := SystemIDOf(m)
	if id == "" {
		return nil, nil
	}
	var list infrav1.MaasMachineList
	var options []client.ListOption
	if s.Indexed {
		options = append(options, client.MatchingFields{SystemIDIndex: id})
	}
	if err := s.Client.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("cannot look for other MaasMachines of machine %s: %w", id, err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		same := other.Namespace == m.Namespace && other.Name == m.Name
		if !same && SystemIDOf(other) == id && s.hasBetterRight(other, m) {
			return other, nil
		}
	}
	return nil, nil
}

// hasBetterRight reports whether a has the better right to a machine that both
// name. The object of the machine's key comes first, then the older object.
func (s Check) hasBetterRight(a, b *infrav1.MaasMachine) bool {
	if x, y := s.claimRank(a), s.claimRank(b); x != y {
		return x < y
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return client.ObjectKeyFromObject(a).String() < client.ObjectKeyFromObject(b).String()
}

// claimRank ranks an object's claim to its machine; the lowest rank is the
// best. A key of this management cluster does not count where the object
// arrived with it.
func (s Check) claimRank(m *infrav1.MaasMachine) int {
	key := m.Annotations[KeyAnnotation]
	owner := metav1.GetControllerOf(m)
	made, _ := ParseMark(key)
	switch {
	case IsUnproven(m) && (made.Management == "" || made.Management == s.Management):
		return 3
	case key == string(MarkOf(s.Management, m).key()):
		return 0
	case key != "" && owner != nil && key == string(owner.UID): // as former versions wrote it
		return 1
	case key != "":
		return 2
	}
	return 3
}
