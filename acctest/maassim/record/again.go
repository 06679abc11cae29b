package record

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// Finish masks all that was written once more, with the names that later
// exchanges told. Call it when nothing is under way any more.
func (p *Proxy) Finish() error {
	if err := p.folder.again(p.mask.exchangeAgain); err != nil {
		return fmt.Errorf("cannot mask the names that were learned late: %w", err)
	}
	return nil
}

func (m *Mask) exchangeAgain(e *recording.Exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := strings.Split(e.Request.Path, "/")
	for i, part := range parts {
		if !routeWords[part] && namedRoutes[part] == "" {
			parts[i] = m.again(part)
		}
	}
	e.Request.Path = strings.Join(parts, "/")
	e.Request.Query, _ = m.valueAgain(e.Request.Query).(map[string]any)
	if form, err := decode(e.Request.Form); err == nil {
		e.Request.Form = encode(m.valueAgain(form))
	}
	if body, err := decode(e.Response.Body); err == nil {
		e.Response.Body = encode(m.valueAgain(body))
	}
}

func (m *Mask) valueAgain(v any) any {
	switch v := v.(type) {
	case string:
		return m.again(v)
	case []any:
		for i := range v {
			v[i] = m.valueAgain(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			if !harmless[k] && nameKinds[k] == "" {
				k = m.again(k)
			}
			out[k] = m.valueAgain(inner)
		}
		return out
	}
	return v
}

// placeholder is the form of those that hold words.
var placeholder = regexp.MustCompile(`^/MAAS/api/2\.0/[a-z-]+/|<[A-Z][A-Z0-9 -]*>|\btext \d+\b|\bsite\d+\.example\b|\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b`)

// again masks what is known now in a text that is masked already.
func (m *Mask) again(text string) string {
	h := &hidden{}
	text = placeholder.ReplaceAllStringFunc(h.without(text), h.hide)
	return h.reveal(m.nameWords(h, m.literals(h, text), m.taken))
}
