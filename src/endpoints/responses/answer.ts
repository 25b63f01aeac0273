// Composes a model response from a script, whole or as events.
import { cutText, type TextAnswer } from '../../answers/text-answer.ts'
import { usageOf } from '../../answers/usage.ts'
import type { AttemptContext, RenderedAnswer } from '../../contract/core/operation.ts'
import type { ResponsesRequest } from '../../contract/router/responses.ts'
import type { ModelResponse, ResponseUsage } from '../../contract/router/responses-answer.ts'
import { calledTools } from '../../contract/router/responses-tools.ts'
import type { TextScript } from '../../contract/router/script.ts'
import { responseId } from './conversation.ts'
import { echoOf } from './echo.ts'
import { eventsOf } from './events.ts'
import { incompleteReason, outputOf, outputText } from './output.ts'
import { responsesPromptTokens } from './reading.ts'

/** The response to a request: the script within the limits of the request. */
export function composeResponse(
  request: ResponsesRequest,
  script: TextScript,
  answerContext: AttemptContext,
): RenderedAnswer {
  const { reasoning, thinking } = request
  const isReasoningOff = reasoning?.effort === 'none' || thinking?.type === 'disabled'
  const answer = cutText(script, {
    maxTokens: request.max_output_tokens ?? undefined,
    stop: [],
    reasoningTokens: isReasoningOff ? 0 : thinking?.type === 'enabled' ? thinking.budget_tokens : undefined,
    parallelToolCalls: request.parallel_tool_calls ?? undefined,
    customTools: calledTools(request.tools).flatMap(({ type, name }) => (type === 'custom' ? [name] : [])),
  })
  const usage = responseUsage(script, responsesPromptTokens(request), answer)
  const reason = incompleteReason(answer)
  const response = (): ModelResponse => {
    const output = outputOf(request, answer, answerContext)
    return {
      id: responseId(answerContext.id),
      object: 'response',
      created_at: Math.floor(answerContext.now / 1000),
      status: reason ? 'incomplete' : 'completed',
      error: null,
      incomplete_details: reason ? { reason } : null,
      model: answerContext.model,
      output,
      output_text: outputText(output),
      ...echoOf(request),
      usage,
    }
  }
  return { usage, tokens: answer.tokens, body: response, events: () => eventsOf(response()) }
}

function responseUsage(script: TextScript, tokens: number, answer: TextAnswer): ResponseUsage {
  const { prompt_tokens, completion_tokens, total_tokens } = usageOf(script, tokens, [answer])
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completion_tokens,
    output_tokens_details: {
      reasoning_tokens: answer.reasoningTokens,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    total_tokens,
  }
}
