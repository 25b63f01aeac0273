// Makes one call with each package, which takes its address and its key from the environment alone.
import { anthropic } from '@ai-sdk/anthropic'
import { openai } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { generateText } from 'ai'
import OpenAI from 'openai'

const messages = [{ role: 'user' as const, content: 'Hello!' }]
await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
await new Anthropic().messages.create({ model: 'claude-sonnet-4', max_tokens: 100, messages })
await generateText({ model: openai('gpt-4o'), prompt: 'Hello!' })
await generateText({ model: anthropic('claude-sonnet-4'), prompt: 'Hello!' })
