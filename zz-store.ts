const which=process.argv[2]!, width=Number(process.argv[3]??8)
const base=which==='old'?'/work/main':'/work/trees/rows'
const {openFile}=await import(base+'/src/db/open.ts')
const {traceStore}=await import(base+'/src/db/trace-store.ts')
const {createWriter}=await import(base+'/src/db/writer.ts')
const {KNOWN}=await import(base+'/src/contract/exchange-note.ts')
const fs=require('fs')
const f=`/tmp/rows/st-${which}.db`; for(const e of ['','-wal','-shm','-lock'])fs.rmSync(f+e,{force:true})
const {database}=openFile(f)
const store=traceStore(database,createWriter(database),{keep:10000,bytes:268435456})
const usage={prompt_tokens:25,completion_tokens:20,total_tokens:45,prompt_tokens_details:{cached_tokens:0,cache_creation_tokens:0,audio_tokens:0},completion_tokens_details:{reasoning_tokens:0,accepted_prediction_tokens:0,rejected_prediction_tokens:0,audio_tokens:0}}
const answer='{"id":"chatcmpl-01M8A2THVHAPG46GEVP90XKDZ1","choices":["'+'x'.repeat(400)+'"],"usage":'+JSON.stringify(usage)+'}'
let n=0
const make=()=>({id:'01M8A2THVHAPG46GEVP'+String(1000000+n).padStart(7,'0'),session:'default',instance:'127.0.0.1:4771',operation:'chat.completions',parent:null,inner:false,name:'chat.completions',point:'chat.completions-2e21dab9.1',model:'openai/gpt-4o',stream:false,route:'gateway',status:200,outcome:'answered',started_at:'2026-11-25T19:25:28.000Z',duration_ms:6,fixture:null,synthesized:true,plan:['openai/gpt-4o'],scenario:null,faults:[],attempts:[{target:'openai/gpt-4o',position:0,number:1,why:'first',faults:[],wait_ms:0,started_ms:2,first_content_ms:5,duration_ms:3,outcome:'answered',status:200,request_id:null,error:null}],cache:null,guardrails:[],retrievals:[],retry_after_ms:null,usage:{...usage},cost:0.0003825,attachments:[],metadata:null,identity:null,thread:null,error:null})
const req='{"model":"openai/gpt-4o-mini","messages":[{"role":"user","content":"Hello there, how are you today?"}],"max_completion_tokens":20}'
const call=()=>{n++;return store.record(n,make(),{request:req,rendered:'null',answer,exchange:KNOWN,arrived:1795634841457,left:1795634841463,client:{connection:'127.0.0.1:52300',retry:null,key:null,caller:'7acdd303e9da',until:n}})}
const cpu=()=>{const u=process.cpuUsage();return u.user+u.system}
const run=async(N:number)=>{const t=cpu();for(let i=0;i<N;i+=width)await Promise.all(Array.from({length:width},call));return (cpu()-t)/N}
await run(30000)
const out=[];for(let r=0;r<5;r++)out.push(await run(16000))
console.log(which,width,Math.min(...out).toFixed(2),out.map(x=>x.toFixed(1)).join(' '),'row bytes',(store.size().bytes/store.size().entries).toFixed(0),'file',fs.statSync(f).size)
