// Package condition sets conditions that the API server takes.
package condition

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// maxMessageLength is the length of a condition's message that the API server takes: one
// that is longer, such as a text of MAAS's which a machine made up, would keep all
// that was seen from being written.
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
