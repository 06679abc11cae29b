// Package condition sets conditions that the API server accepts.
package condition

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// maxMessageLength is the longest message of a condition that the API server
// accepts. With a longer one it refuses the whole status. MAAS's own texts may
// be longer, because a machine wrote part of them.
const maxMessageLength = 32768

// SetTruncated sets a condition of an object. A message that is too long is cut.
func SetTruncated(o conditions.Setter, kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(o, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: truncateMessage(message)})
}

func truncateMessage(message string) string {
	if len(message) <= maxMessageLength {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessageLength-3], "") + "..."
}
