package record

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// Finish masks all written exchanges once more, with the names that later exchanges
// revealed. Call it only after the last request has ended.
func (p *Proxy) Finish() error {
	if err := p.folder.rewriteExchanges(p.mask.remaskExchange); err != nil {
		return fmt.Errorf("cannot mask the names that were learned late: %w", err)
	}
	return nil
}

func (m *Mask) remaskExchange(e *recording.Exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := strings.Split(e.Request.Path, "/")
	for i, part := range parts {
		if !routeWords[part] && namedRoutes[part] == "" {
			parts[i] = m.remaskText(part)
		}
	}
	e.Request.Path = strings.Join(parts, "/")
	e.Request.Query, _ = m.remaskValue(e.Request.Query).(map[string]any)
	if form, err := decode(e.Request.Form); err == nil {
		e.Request.Form = encode(m.remaskValue(form))
	}
	if body, err := decode(e.Response.Body); err == nil {
		e.Response.Body = encode(m.remaskValue(body))
	}
}

func (m *Mask) remaskValue(v any) any {
	switch v := v.(type) {
	case string:
		return m.remaskText(v)
	case []any:
		for i := range v {
			v[i] = m.remaskValue(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			if !harmlessFields[k] && nameKinds[k] == "" {
				k = m.remaskText(k)
			}
			out[k] = m.remaskValue(inner)
		}
		return out
	}
	return v
}

// placeholderPattern matches placeholders that contain words.
var placeholderPattern = regexp.MustCompile(`^/MAAS/api/2\.0/[a-z-]+/|<[A-Z][A-Z0-9 -]*>|\btext \d+\b|\bsite\d+\.example\b|\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b`)

// remaskText masks, in a masked text, the names that became known later.
func (m *Mask) remaskText(text string) string {
	h := &placeholderStore{}
	text = placeholderPattern.ReplaceAllStringFunc(h.stripPrivateRunes(text), h.hide)
	return h.reveal(m.maskNameWords(h, m.maskLiterals(h, text), m.takenNames))
}
