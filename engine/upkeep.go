package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Upkeep is what a spec wants of a machine that MAAS lets one change at any time.
type Upkeep struct {
	// Zone, Pool and Domain are names. Empty: the machine keeps what it has.
	Zone   string
	Pool   string
	Domain string
	// Tags that the machine must carry. It has others besides.
	Tags []string
	// RemovedTags must be gone: tags that were wanted before.
	RemovedTags []string
	// Description is what MAAS's description says beside our mark and notes (see
	// DescriptionText). Nil leaves it alone; an empty one clears it.
	Description *string
	// Locked says whether MAAS's lock is on the machine, which keeps everybody from
	// deleting, releasing and changing it. It is unlocked for as long as a change takes.
	// Nil leaves the lock alone: one that is there then refuses every change but that of
	// tags.
	Locked *bool
	// Annotations are workload annotations of MAAS that a finished machine shall have, and
	// RemovedAnnotations are the keys of those that were wanted before. Other keys are left
	// alone. Values are not empty: MAAS takes an empty one for a removal.
	Annotations        map[string]string
	RemovedAnnotations []string
}

// Upkeep is that of a VM.
func (s VMSpec) Upkeep() Upkeep {
	return Upkeep{
		Zone: s.Zone, Pool: s.Pool, Domain: s.Domain, Tags: s.Tags, RemovedTags: s.RemovedTags, Description: s.Description,
		Locked: s.Locked, Annotations: s.Annotations, RemovedAnnotations: s.RemovedAnnotations,
	}
}

// validate refuses what MAAS does not keep of what a text calls "this VM".
func (u Upkeep) validate(this string, d *Deployment) error {
	return errors.Join(u.validateLock(this, d), u.validateAnnotations(this, d), u.validateDescription())
}

// validateLock refuses the lock for what is not to be deployed.
func (u Upkeep) validateLock(this string, d *Deployment) error {
	if u.Locked == nil || !*u.Locked || d != nil {
		return nil
	}
	return &SpecError{
		Field: "deletion_protection", Message: "MAAS locks deployed machines only, and nothing is to be deployed on " + this,
		Hint: "Add deploy, or leave deletion_protection out.",
	}
}

// validateAnnotations refuses what MAAS does not keep.
func (u Upkeep) validateAnnotations(this string, d *Deployment) error {
	if len(u.Annotations) > 0 && d == nil {
		return &SpecError{
			Field: "annotations", Message: "MAAS annotates deployed machines only, and nothing is to be deployed on " + this,
			Hint: "Add deploy, or leave annotations out.",
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.Annotations)) {
		switch problem := AnnotationKeyProblem(key); {
		case problem != "":
			return &SpecError{Field: "annotations", Message: problem}
		case u.Annotations[key] == "":
			return &SpecError{Field: "annotations", Message: fmt.Sprintf("the value of %q is empty, which MAAS takes for a removal", key), Hint: "Leave the key out."}
		}
	}
	return nil
}

// validateDescription refuses what would be taken for our mark, and what MAAS does not keep.
func (u Upkeep) validateDescription() error {
	if u.Description == nil {
		return nil
	}
	if problem := DescriptionProblem(*u.Description); problem != "" {
		return &SpecError{Field: "description", Message: problem}
	}
	return nil
}
