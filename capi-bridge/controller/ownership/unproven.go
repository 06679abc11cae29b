package ownership

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
)

// HasStatus reports whether a controller has worked on the object while it was
// not paused.
func HasStatus(m *infrav1.MaasMachine) bool {
	seen := infrav1.MaasMachine{Status: *m.Status.DeepCopy()}
	conditions.Delete(&seen, infrav1.PausedCondition)
	return !equality.Semantic.DeepEqual(seen.Status, infrav1.MaasMachineStatus{})
}

// IsUnproven reports whether only the object's annotations say that it has its
// machine.
func IsUnproven(m *infrav1.MaasMachine) bool {
	return m.Annotations[controller.UnprovenAnnotation] != "" || m.Annotations[KeyAnnotation] != "" && !HasStatus(m)
}

// HasLateSystemID reports whether somebody named a machine while the manager
// makes one for the object. The manager writes the annotation first, so the
// spec alone names a foreign machine. When the object is deleted, the manager
// deletes its own machine only.
func (s *Record) HasLateSystemID() bool {
	return s.IsClaimed() && s.MaasMachine.Annotations[SystemIDAnnotation] == "" && s.SystemID() != ""
}
