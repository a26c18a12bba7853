package archive

import (
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Column is a column of a table.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // string, int64, double, boolean, bytes, timestamp, or "list of" one of these
	Optional bool   `json:"optional"`
}

// schemas are the Parquet schemas of the tables.
var schemas = map[string]*parquet.Schema{
	Markets: parquet.SchemaOf(MarketRow{}), Events: parquet.SchemaOf(EventRow{}), Prices: parquet.SchemaOf(PriceRow{}),
	News: parquet.SchemaOf(NewsRow{}), Closings: parquet.SchemaOf(ClosingRow{}), Outcomes: parquet.SchemaOf(OutcomeRow{}),
	Predictions: parquet.SchemaOf(PredictionRow{}), Ledger: parquet.SchemaOf(LedgerRow{}),
	References: parquet.SchemaOf(ReferenceRow{}), Boards: parquet.SchemaOf(BoardRow{}), Agents: parquet.SchemaOf(AgentRow{}),
	Rules: parquet.SchemaOf(RuleRow{}),
}

// Columns lists the columns of a table in file order. It is empty for an unknown table.
func Columns(table string) []Column {
	schema := schemas[table]
	if schema == nil {
		return []Column{}
	}
	list := make([]Column, 0, len(schema.Fields()))
	for _, f := range schema.Fields() {
		list = append(list, Column{Name: f.Name(), Type: typeOf(f), Optional: f.Optional()})
	}
	return list
}

func typeOf(n parquet.Node) string {
	if !n.Leaf() {
		return "list of " + typeOf(leafOf(n))
	}
	text := n.Type().String()
	switch {
	case strings.HasPrefix(text, "STRING"):
		return "string"
	case strings.HasPrefix(text, "TIMESTAMP"):
		return "timestamp"
	case strings.HasPrefix(text, "INT"):
		return "int64"
	case text == "DOUBLE":
		return "double"
	case text == "BOOLEAN":
		return "boolean"
	}
	return "bytes"
}

func leafOf(n parquet.Node) parquet.Node {
	for !n.Leaf() {
		n = n.Fields()[0]
	}
	return n
}
