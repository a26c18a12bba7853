package cache

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends the messages of the Redis client to log, at debug level. Without it, they go to
// standard error. It applies to the whole process.
func LogTo(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (r redisLog) Printf(_ context.Context, format string, args ...any) {
	r.log.Debug(fmt.Sprintf(format, args...), "from", "redis")
}
