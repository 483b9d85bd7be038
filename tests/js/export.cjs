// Sends recorded spans through an exporter of the OpenTelemetry JavaScript SDK.
// Usage: node export.cjs http|proto|grpc ENDPOINT < an export request in OTLP/JSON
const { diag, DiagConsoleLogger, DiagLogLevel } = require('@opentelemetry/api')
const { BatchSpanProcessor } = require('@opentelemetry/sdk-trace')
const { resourceFromAttributes } = require('@opentelemetry/resources')

diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN)
const [kind, url] = process.argv.slice(2)
const { OTLPTraceExporter } = require(`@opentelemetry/exporter-trace-otlp-${kind}`)

const plain = (value) =>
  value === undefined ? undefined
  : 'intValue' in value ? Number(value.intValue)
  : 'arrayValue' in value ? (value.arrayValue.values ?? []).map(plain)
  : 'kvlistValue' in value ? attributes(value.kvlistValue.values)
  : Object.values(value)[0]
const attributes = (pairs) => Object.fromEntries((pairs ?? []).map(({ key, value }) => [key, plain(value)]))
const time = (nano) => [Number(BigInt(nano) / 1000000000n), Number(BigInt(nano) % 1000000000n)]
const context = (traceId, spanId) => ({ traceId, spanId, traceFlags: 1 })

const readable = (span, resource, scope) => ({
  name: span.name,
  kind: (span.kind ?? 1) - 1,
  spanContext: () => context(span.traceId, span.spanId),
  parentSpanContext: span.parentSpanId ? context(span.traceId, span.parentSpanId) : undefined,
  startTime: time(span.startTimeUnixNano),
  endTime: time(span.endTimeUnixNano),
  status: { code: span.status?.code ?? 0, message: span.status?.message },
  attributes: attributes(span.attributes),
  links: (span.links ?? []).map((link) => ({
    context: context(link.traceId, link.spanId), attributes: attributes(link.attributes),
  })),
  events: (span.events ?? []).map((event) => ({
    name: event.name, time: time(event.timeUnixNano), attributes: attributes(event.attributes),
  })),
  duration: [0, 0],
  ended: true,
  resource,
  instrumentationScope: scope,
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
})

async function main() {
  let text = ''
  for await (const piece of process.stdin) text += piece
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })
  for (const held of JSON.parse(text).resourceSpans) {
    const resource = resourceFromAttributes(attributes(held.resource.attributes))
    for (const scoped of held.scopeSpans) {
      const scope = { name: scoped.scope?.name ?? '', version: scoped.scope?.version }
      for (const span of scoped.spans) processor.onEnd(readable(span, resource, scope))
    }
  }
  await processor.shutdown()
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
