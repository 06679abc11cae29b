package ownership

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
)

// Check finds out whether an object has a right to the machine that it names.
type Check struct {
	Record
	Client client.Client
	Sites  controller.Sites
	// Indexed is true where MaasMachines can be listed by SystemIDIndex.
	Indexed bool
	// MaasCluster is the object's cluster; nil: it is gone.
	MaasCluster *infrav1.MaasCluster
}

// Verdict is the result of a Check.
type Verdict struct {
	// Rival is another object that has the better right to the machine; nil:
	// there is none.
	Rival *infrav1.MaasMachine
	// Refusal says why the object has no right to the machine; nil: it has.
	// With a Refusal we do nothing for the object, and nothing to the machine
	// when the object is deleted.
	Refusal *problem.BlockedError
}

// Run checks the object. The error says that its right cannot be found out.
func (s Check) Run(ctx context.Context) (v Verdict, err error) {
	if s.SystemID() == "" && !s.IsClaimed() {
		return v, nil
	}
	if v.Rival, err = s.findRival(ctx, s.MaasMachine); err != nil {
		return v, err
	}
	key := s.EngineKey()
	_, isMark := ParseMark(string(key))
	switch {
	case IsUnproven(s.MaasMachine) && (s.IsAdoptionPending() || !isMark), s.HasLateSystemID() && !s.IsDeleting():
		v.Refusal, err = s.refuseUnproven(ctx)
	case key == s.OwnKey():
		return v, nil // the machine's own mark says whose it is
	case v.Rival != nil:
		v.Refusal = s.ownedByOtherError(v.Rival)
	case key == "" && s.namesForeignMachine():
		v.Refusal, err = s.refuseTakeOver(ctx)
	case key != "":
		v.Refusal, err = s.refuseForeignKey(ctx)
	}
	return v, err
}

// ownedByOtherError says that another object has the machine.
func (s *Record) ownedByOtherError(other *infrav1.MaasMachine) *problem.BlockedError {
	return &problem.BlockedError{
		Reason: infrav1.ConflictReason,
		Message: fmt.Sprintf("machine %s belongs to the MaasMachine %s; a machine has one object, and this object is newer or a copy",
			s.SystemID(), client.ObjectKeyFromObject(other)),
		Hint: "Delete this object; the machine stays as it is.",
	}
}

// refuseTakeOver returns why a new object may not take the machine that it
// names.
func (s Check) refuseTakeOver(ctx context.Context) (*problem.BlockedError, error) {
	if !s.wantsTakeOver() {
		return s.foreignMachineError(), nil
	}
	return s.refuseUnlessAllowed(ctx, fmt.Sprintf("machine %s was not made for this object, and the cluster's identity allows no take-over", s.SystemID()))
}

// refuseForeignKey returns why an object may not have the machine of its key.
// Keys of former versions name nobody; an object without a rival gets its
// machine then.
func (s Check) refuseForeignKey(ctx context.Context) (*problem.BlockedError, error) {
	made, ok := ParseMark(string(s.EngineKey()))
	if !ok {
		return nil, nil
	}
	own := s.Mark()
	message := fmt.Sprintf("the machine was made for the MaasMachine %s/%s of cluster %s", made.namespace, made.name, made.cluster)
	if made.Management != own.Management {
		message += " of another management cluster"
		moved := made
		moved.Management = own.Management
		switch {
		case moved == own && s.MaasMachine.Annotations[ArrivalAnnotation] == own.Management:
			return nil, nil
		case moved == own:
			message += "; if that cluster no longer has it, pause the Cluster for a moment"
			return s.refuseUnlessAllowed(ctx, message)
		}
	}
	return s.refuseUnlessAllowed(ctx, message+", of which this object is a copy")
}

// refuseUnlessAllowed refuses, unless the identity of the cluster allows
// take-over.
func (s Check) refuseUnlessAllowed(ctx context.Context, message string) (*problem.BlockedError, error) {
	if s.MaasCluster == nil {
		return nil, nil // the condition Deleting says that deletion is blocked
	}
	site, err := s.Sites.Site(ctx, s.MaasCluster)
	if err != nil || site.AllowTakeOver {
		return nil, err
	}
	return &problem.BlockedError{
		Reason: infrav1.ConflictReason, Message: message,
		Hint: "Delete this object; the machine stays as it is. Or ask the administrator to allow it, by allowTakeOver of the MaasClusterIdentity or the manager's --allow-take-over.",
	}, nil
}

// foreignMachineError says why we do nothing for such an object.
func (s *Record) foreignMachineError() *problem.BlockedError {
	return &problem.BlockedError{
		Reason: infrav1.ConflictReason,
		Message: fmt.Sprintf("spec.providerID and spec.systemID: machine %s was not made for this new object, "+
			"and deleting the object would release the machine", s.SystemID()),
		Hint: "Leave both fields out to get a machine. To take this one over as it is, set the annotation " + infrav1.TakeOverAnnotation +
			": \"true\"; the cluster's identity must allow it.",
	}
}

// refuseUnproven returns why an object may not have a machine that does not
// bear its mark.
func (s Check) refuseUnproven(ctx context.Context) (*problem.BlockedError, error) {
	return s.refuseUnlessAllowed(ctx, "only this object's annotations say that its machine was made for it")
}
